import { expect, onTestFinished, test } from 'vitest';
import type { Credentials, Grant } from '../../src/emr/connector.ts';
import { bindings, getAccount } from '../../src/product/accounts/accounts.ts';
import { connectAccount } from '../../src/product/accounts/connectAccount.ts';
import { linkFhir } from '../harness/fhir/linkFhir.ts';
import { type FhirServer, startFhirServer } from '../harness/fhir/startFhirServer.ts';
import { figure, timeoutFor } from '../harness/figure.ts';
import { startProcess, startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { stopScheduledSyncs, untilFinished } from '../journeys/support.ts';

const expiries = figure('EXPIRIES', 50);
const parallel = 4;
/** Besides the process of the test, which runs jobs too. */
const workers = 2;

test(
  'each refresh token is redeemed once, and no account asks for a sign-in, while jobs and requests renew it at once',
  async () => {
    const [fixture, server] = await Promise.all([startSandbox({ small: true }), startFhirServer({ data: 'small' })]);
    const processes = await Promise.all(Array.from({ length: workers }, () => startProcess('worker', fixture.env)));
    onTestFinished(async () => {
      await Promise.all(processes.map(({ stop }) => stop()));
      await fixture.close();
      await server.close();
    });
    server.faults.withheld = { Appointment: 'all', ServiceRequest: 'all', Slot: 'all', Claim: 'all' };
    const api = await linkFhir(fixture, server, { user_id: 'renewals', org_id: 'renewals' });
    await api.sync();
    await stopScheduledSyncs(fixture.owner, 'renewals');
    const account = await signInOnPage(fixture, server);
    await fixture.owner`INSERT INTO write_limits (account_id, client_id, parallel, creates, reason)
      VALUES (${account.account_id}, ${account.client_id}, ${parallel}, 0, 'start')
      ON CONFLICT (account_id) DO UPDATE SET parallel = excluded.parallel`;
    // As strict servers do: a refresh token that is sent a second time ends the sign-in.
    server.faults.refresh_reuse = 'ends_sign_in';

    const job_ids: number[] = [];
    for (let n = 0; n < expiries; n++) {
      server.expireTokens('access');
      const request = connectAccount(fixture.ctx, account, AbortSignal.timeout(60_000)).then((opened) =>
        opened.sampleIdentifiers(),
      );
      const accepted = await Promise.all(
        Array.from({ length: parallel }, (_, lane) => api.call('POST', '/v1/patients', { body: newPatient(n, lane) })),
      );
      for (const { status, body } of accepted) expect(status, JSON.stringify(body)).toBe(200);
      const ids = accepted.map(({ body }) => body.job_id);
      await Promise.all([request, untilFinished(fixture.owner, ids)]);
      job_ids.push(...ids);
    }

    const sent = [...server.redemptions.values()];
    expect(sent.filter((times) => times > 1)).toStrictEqual([]);
    expect(sent.length).toBeGreaterThanOrEqual(expiries);
    const { body } = await api.call('GET', '/v1/webhook-events?event_type=login_required');
    expect(body.webhook_events).toStrictEqual([]);
    const states = await fixture.owner<{ state: string; jobs: number }[]>`
      SELECT state, count(*)::int AS jobs FROM jobs WHERE id = ANY (${job_ids}) GROUP BY state`;
    expect(states).toStrictEqual([{ state: 'succeeded', jobs: expiries * parallel }]);
  },
  timeoutFor(expiries, 20_000),
);

const letters = 'abcdefghijklmnopqrstuvwxyz';

function newPatient(n: number, lane: number): Record<string, string> {
  const name = [n, lane]
    .map((each) => [...String(each)].map((digit) => letters.charAt(Number(digit))).join(''))
    .join('q');
  return { first_name: 'Synthetic', last_name: `Renewal${name}`, dob: '1990-05-14', sex: 'female' };
}

/** Replaces the sign-in by secret, which has no refresh token, with one on the EMR's page. */
async function signInOnPage(
  { owner, ctx }: TestSandbox,
  server: FhirServer,
): Promise<{ client_id: string; account_id: string }> {
  const [row] = await owner<{ account_id: string; client_id: string }[]>`
    SELECT id AS account_id, client_id FROM accounts WHERE user_id = 'renewals'`;
  if (!row) throw new Error('There is no account.');
  const { client_id, account_id } = row;
  await ctx.db.tenant(client_id, async (tx) => {
    const { grant_sealed } = await getAccount(tx, account_id);
    const grant: Grant = JSON.parse(await ctx.vault.unseal(tx, grant_sealed, bindings.grant(account_id)));
    const credentials: Credentials = { way: 'authorization_code', client_id: server.clients.public.client_id };
    const seal = (binding: string, value: object) =>
      ctx.vault.seal(tx, { client_id, owner_id: account_id }, binding, JSON.stringify(value));
    const sealed = {
      grant: await seal(bindings.grant(account_id), { ...grant, ...server.personTokens() }),
      credentials: await seal(bindings.credentials(account_id), credentials),
    };
    await tx`UPDATE accounts SET grant_sealed = ${sealed.grant}, credentials_sealed = ${sealed.credentials}
      WHERE id = ${account_id}`;
  });
  return { client_id, account_id };
}
