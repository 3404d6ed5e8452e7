import { setTimeout as pause } from 'node:timers/promises';
import { print, until } from '../../cluster/programs.ts';
import { type Call, linkAccount } from '../../linkAccount.ts';
import type { Installation } from './installation.ts';
import { type Chart, patients_max } from './requests.ts';

export type Headers = Record<string, string>;

/** A linked account, with what its requests refer to. */
export type Account = { headers: Headers; user_id: string; org_id: string; staff: number; call: Call; chart: Chart };

/** Which accounts the run has: several of one practice, several practices, several clients. */
const layout = [
  { client: 'Soak A', org_id: 'soak-a-1', users: 2 },
  { client: 'Soak A', org_id: 'soak-a-2', users: 1 },
  { client: 'Soak B', org_id: 'soak-b-1', users: 1 },
];

/** Creates the clients, registers two receivers for each, and links their accounts. */
export async function createAccounts(installation: Installation): Promise<Account[]> {
  const { sandbox, receivers } = installation;
  // The seeded account is not part of the run: when its link expires, nobody would re-link it.
  const { client_id, client_secret, access_token } = sandbox;
  await openCall(sandbox.base_url, { client_id, client_secret, access_token })('DELETE', '/v1/account');
  const clients = new Map<string, Headers>();
  const accounts: Account[] = [];
  for (const { client, org_id, users } of layout) {
    const credentials = clients.get(client) ?? createClient(installation, client);
    clients.set(client, credentials);
    for (let n = 0; n < users; n++) {
      const staff = accounts.length;
      const link = {
        user_id: `user-${n}`,
        org_id,
        emr_url: sandbox.larkspur.url,
        person: sandbox.larkspur.staff[staff],
      };
      const access_token = await linkAccount(openCall(sandbox.base_url, credentials), link);
      const headers = { ...credentials, access_token };
      const call = openCall(sandbox.base_url, headers);
      const patients = await until('the first sync of an account', () => firstPatients(call));
      accounts.push({ ...link, headers, staff, call, chart: { example: sandbox.example, patients } });
    }
  }
  for (const [client, credentials] of clients) {
    for (const name of ['first', 'second']) {
      const path = `/${client.replaceAll(' ', '-')}/${name}`;
      const call = openCall(sandbox.base_url, credentials);
      const { webhook_secret } = await call('POST', '/v1/webhook', { webhook_url: receivers.url + path });
      receivers.send({ path, secret: webhook_secret });
    }
  }
  return accounts;
}

/** Links accounts again, as their users would, a moment after the service asks for it. Returns how often it did. */
export function startRelinking({ sandbox, sql }: Installation, accounts: readonly Account[]) {
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
        if (account)
          relinked += await relink(sandbox, account).then(
            () => 1,
            () => 0,
          );
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

async function relink({ base_url, larkspur }: Installation['sandbox'], account: Account): Promise<void> {
  const { access_token = '', ...credentials } = account.headers;
  const { user_id, org_id, staff } = account;
  const link = { user_id, org_id, emr_url: larkspur.url, person: larkspur.staff[staff], access_token };
  await linkAccount(openCall(base_url, credentials), link);
  print(`re-linked ${org_id} ${user_id}`);
}

function createClient({ command }: Installation, name: string): Headers {
  const output = command(['clients', 'create', '--name', name]);
  const [, client_id = '', client_secret = ''] = /client_id +(\S+)\s+client_secret +(\S+)/.exec(output) ?? [];
  return { client_id, client_secret };
}

export function openCall(base_url: string, headers: Headers): Call {
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

async function firstPatients(call: Call): Promise<Chart['patients'] | undefined> {
  const { patients } = await call('GET', `/v1/patients?page_size=${patients_max}`);
  return patients.length === patients_max ? patients : undefined;
}
