import { setTimeout as pause } from 'node:timers/promises';
import { print, until } from '../../cluster/programs.ts';
import { type Call, linkAccount } from '../../linkAccount.ts';
import { linkOnPage } from './fhirEmrs.ts';
import type { Installation } from './installation.ts';
import { type Chart, fhir_kinds, larkspur_kinds } from './requests.ts';

export type Headers = Record<string, string>;

/** A linked account, with what its requests refer to. */
export type Account = {
  headers: Headers;
  user_id: string;
  org_id: string;
  call: Call;
  chart: Chart;
  /** Signs in at the EMR again, for the same account. */
  relink(): Promise<void>;
  /** Ends the sign-in at the EMR, as its administrator would. Absent if the EMR can only end those of all its users. */
  endSignIn?: () => void;
};

type Practice = { client: string; org_id: string; users: number } & (
  | { emr: 'larkspur' }
  /** One of the FHIR servers, by its index. */
  | { emr: 'fhir'; server: number }
);

/** Which accounts the run has: several of one practice, several practices, several clients, several EMRs. */
const layout: readonly Practice[] = [
  { client: 'Soak A', org_id: 'soak-a-1', users: 2, emr: 'larkspur' },
  { client: 'Soak A', org_id: 'soak-a-2', users: 1, emr: 'larkspur' },
  { client: 'Soak B', org_id: 'soak-b-1', users: 1, emr: 'larkspur' },
  { client: 'Soak A', org_id: 'soak-a-fhir', users: 2, emr: 'fhir', server: 0 },
  { client: 'Soak B', org_id: 'soak-b-fhir', users: 1, emr: 'fhir', server: 1 },
];

/** A few patients, so that many writes share a lane. */
const patients_max = { larkspur: 24, fhir: 12 };

/** As many as a FHIR server with a good record is sent at the same time. */
const parallel_writes = 4;

/** Creates the clients, registers two receivers for each, and links their accounts. */
export async function createAccounts(installation: Installation): Promise<Account[]> {
  const { sandbox, receivers, sql } = installation;
  // The seeded account is not part of the run: when its link expires, nobody would re-link it.
  const { client_id, client_secret, access_token } = sandbox;
  await createCall(sandbox.base_url, { client_id, client_secret, access_token })('DELETE', '/v1/account');
  const clients = new Map<string, Headers>();
  const accounts: Account[] = [];
  let staff = 0;
  for (const practice of layout) {
    const credentials = clients.get(practice.client) ?? createClient(installation, practice.client);
    clients.set(practice.client, credentials);
    for (let n = 0; n < practice.users; n++) {
      const account = { ...practice, credentials, user_id: `user-${n}` };
      if (account.emr === 'fhir') accounts.push(await linkFhirAccount(installation, account, n));
      else accounts.push(await linkLarkspurAccount(installation, account, staff++));
    }
  }
  await sql`INSERT INTO write_limits (account_id, client_id, parallel, creates, reason)
    SELECT accounts.id, accounts.client_id, ${parallel_writes}, 0, 'start' FROM accounts
      JOIN organizations ON organizations.id = organization_id WHERE org_id LIKE '%-fhir'
    ON CONFLICT (account_id) DO UPDATE SET parallel = excluded.parallel`;
  for (const [client, credentials] of clients) {
    for (const path of receiverPaths(client)) {
      const call = createCall(sandbox.base_url, credentials);
      const { webhook_secret } = await call('POST', '/v1/webhook', { webhook_url: receivers.url + path });
      receivers.send({ path, secret: webhook_secret });
    }
  }
  return accounts;
}

export const receiver_paths = [...new Set(layout.map(({ client }) => client))].flatMap(receiverPaths);

function receiverPaths(client: string): string[] {
  return ['first', 'second'].map((name) => `/${client.replaceAll(' ', '-')}/${name}`);
}

type NewAccount = { org_id: string; user_id: string; credentials: Headers };

async function linkLarkspurAccount(
  { sandbox }: Installation,
  { org_id, user_id, credentials }: NewAccount,
  staff: number,
): Promise<Account> {
  const { url, staff: people } = sandbox.larkspur;
  const link = (access_token?: string) =>
    linkAccount(createCall(sandbox.base_url, credentials), {
      ...{ user_id, org_id, emr_url: url, person: people[staff], ...(access_token && { access_token }) },
    });
  const access_token = await link();
  const headers = { ...credentials, access_token };
  const call = createCall(sandbox.base_url, headers);
  const patients = await untilSynced(call, patients_max.larkspur);
  const chart: Chart = { example: sandbox.example, visit_type: 'OV', patients, kinds: larkspur_kinds };
  return { headers, user_id, org_id, call, chart, relink: async () => void (await link(access_token)) };
}

async function linkFhirAccount(
  { sandbox: { base_url }, fhir_emrs }: Installation,
  { org_id, user_id, credentials, server }: NewAccount & { server: number },
  n: number,
): Promise<Account> {
  const emr = fhir_emrs[server];
  const person = emr?.people[n];
  if (!emr || !person) throw new Error('The FHIR server has no such user.');
  const page = { base_url, call: createCall(base_url, credentials), user_id, org_id, emr, person };
  const access_token = await linkOnPage(page);
  const headers = { ...credentials, access_token };
  const call = createCall(base_url, headers);
  const patients = await untilSynced(call, patients_max.fhir);
  const first = async (list: string) => (await call('GET', `/v1/${list.replace('_', '-')}`))[list][0];
  const [provider, location, visit_type] = await until('the lists of an account are synced', async () => {
    const records = await Promise.all(['providers', 'locations', 'visit_types'].map(first));
    return records.every((record) => record !== undefined) && records;
  });
  const example = { provider_id: provider.ehr_id, location_id: location.ehr_id };
  return {
    ...{ headers, user_id, org_id, call },
    chart: { example, visit_type: visit_type.code, patients, kinds: fhir_kinds },
    relink: async () => void (await linkOnPage({ ...page, access_token })),
    endSignIn: () => emr.send({ end_sign_ins_of: person.username }),
  };
}

async function untilSynced(call: Call, count: number): Promise<Chart['patients']> {
  return until('the first sync of an account', async () => {
    const { patients } = await call('GET', `/v1/patients?page_size=${count}`);
    return patients.length === count && patients;
  });
}

/** Links accounts again, as their users would, a moment after the service asks for it. Returns how often it did. */
export function startRelinking(
  { sql }: Installation,
  accounts: readonly Account[],
  relink: (account: Account) => Promise<boolean>,
) {
  let stopped = false;
  let relinked = 0;
  const run = async () => {
    while (!stopped) {
      await pause(relink_ms);
      // The database may be down, and the EMR may be failing: then the users try again.
      const expired = await sql<{ org_id: string; user_id: string }[]>`
        SELECT org_id, user_id FROM accounts JOIN organizations ON organizations.id = organization_id
         WHERE status = 'login_required'`.catch(() => []);
      for (const { org_id, user_id } of expired) {
        const account = accounts.find((each) => each.org_id === org_id && each.user_id === user_id);
        if (!account || !(await relink(account))) continue;
        relinked++;
        print(`re-linked ${org_id} ${user_id}`);
      }
    }
  };
  const running = run();
  return {
    relinked: () => relinked,
    stop: async () => {
      stopped = true;
      await running;
    },
  };
}

const relink_ms = 1_500;

function createClient({ command }: Installation, name: string): Headers {
  const output = command(['clients', 'create', '--name', name]);
  const [, client_id = '', client_secret = ''] = /client_id +(\S+)\s+client_secret +(\S+)/.exec(output) ?? [];
  return { client_id, client_secret };
}

export function createCall(base_url: string, headers: Headers): Call {
  return async (method, path, body) => {
    const response = await fetch(base_url + path, {
      method,
      headers: { ...headers, 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(30_000),
    });
    if (!response.ok) throw new Error(`${method} ${path} returned ${response.status}: ${await response.text()}`);
    return response.json();
  };
}
