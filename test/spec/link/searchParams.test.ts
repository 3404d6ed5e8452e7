import { afterAll, beforeAll, expect, test } from 'vitest';
import { appFor } from '../../harness/fhir/registrations.ts';
import { type FhirServer, startFhirServer } from '../../harness/fhir/startFhirServer.ts';
import { signInOperator } from '../../harness/operator.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { linkSteps } from '../../linking/linkSteps.ts';

let fixture: TestSandbox;
let server: FhirServer;
beforeAll(async () => {
  [fixture, server] = await Promise.all([
    startSandbox({ small: true, sync_after_link: false }),
    startFhirServer({ data: 'small' }),
  ]);
});
afterAll(async () => {
  await fixture.close();
  await server.close();
});

const practice = (id: number) => ({ search_params: { 'ah-practice': `Organization/a-1.Practice-${id}` } });

const createLink = (org_id: string, more: object = {}) =>
  fixture.api.call('POST', '/link/token/create', {
    body: { user_id: `user-${org_id}`, org_id, emr_name: 'fhir', emr_instance_domain: server.url, ...more },
    headers: { access_token: null },
  });

test(row('SPM-01'), async () => {
  const steps = linkSteps(fixture);
  const owner = await signInOperator(fixture);
  const credentials = { way: 'client_secret', ...server.clients.confidential };
  const newApp = (fields: object) =>
    owner.post('clients/{client}/emr-apps', appFor(server.url, credentials, { ...fields }));
  server.faults.unknown_parameter = 'ignore';
  const without_app = await createLink('shared-1', practice(1));
  expect([without_app.status, without_app.body.code]).toStrictEqual([400, 'search_params_need_app']);
  expect((await newApp({ search_params: { 'ah-practice': '' } })).status).toBe(200);
  const unnamed = await createLink('shared-1');
  expect([unnamed.status, unnamed.body.message]).toStrictEqual([
    400,
    'The practices of this EMR share one address. Name the practice in search_params: ah-practice.',
  ]);
  const created = await createLink('shared-1', practice(1));
  expect(created.status, JSON.stringify(created.body)).toBe(200);
  const linked = await steps.signIn(created.body.token, 0, { credentials: {}, one_time_code: undefined });
  expect(linked.status, JSON.stringify(linked.body)).toBe(200);
  const searches = server.ledger.filter(({ path }) => /\/R4\/[A-Z]\w+\?/.test(path));
  expect(searches.length).toBeGreaterThan(5);
  expect(searches.filter(({ path }) => !path.includes('ah-practice=Organization%2Fa-1.Practice-1'))).toStrictEqual([]);

  const other = await createLink('shared-1', practice(2));
  expect([other.status, other.body.code]).toStrictEqual([400, 'search_params_mismatch']);
  // The organization is known by now, so that its practice need not be named again.
  expect((await createLink('shared-1')).status).toBe(200);
  expect((await createLink('shared-2', practice(2))).status).toBe(200);
  const stored = await fixture.owner`SELECT search_params FROM organizations WHERE org_id = 'shared-1'`;
  expect(stored).toStrictEqual([practice(1)]);
});

test(row('SPM-02'), async () => {
  const refused = async (fields: object) => {
    const { status, body } = await createLink('shared-3', fields);
    return [status, body.code, body.message];
  };
  const owner = await signInOperator(fixture);
  const path = 'clients/{client}/emr-apps';
  const [app] = (await owner.get(path)).body.emr_apps;
  const change = (search_params: object) => owner.patch(`${path}/${app.id}`, { search_params });
  for (const [search_params, rule] of [
    [{ 'ah-practice': ' ' }, 'search_params must have a value for each name'],
    [{ patient: '1' }, 'search_params must not contain patient, which searches use themselves'],
    [{ 'a b': '1' }, 'search_params must have names such as ah-practice'],
    [{ a: '1', ' a': '2' }, 'search_params must name each parameter once'],
  ] as const) {
    expect(await refused({ search_params })).toStrictEqual([400, 'invalid_field', rule]);
  }

  // The account of the first test uses the app: its parameters stay, and what else is sent with them is changed.
  const in_use = await change({ 'ah-practice': 'Organization/a-1.Practice-2' });
  expect([in_use.status, in_use.body.code]).toStrictEqual([409, 'emr_app_in_use']);
  const { search_params } = app;
  expect((await owner.patch(`${path}/${app.id}`, { name: 'Renamed', search_params })).status).toBe(200);

  // Neither what was entered before the app changed, nor a link that is open, is used without its parameters.
  const open = await createLink('shared-3', practice(3));
  const [{ id: account_id } = { id: '' }] = await fixture.owner<{ id: string }[]>`
    SELECT id FROM accounts WHERE emr_app_id = ${app.id}`;
  const relink = () => owner.post(`clients/{client}/accounts/${account_id}/relink`, {});
  expect((await relink()).status).toBe(200);
  await fixture.owner`UPDATE emr_apps SET search_params = ${fixture.owner.json({ ...search_params, site: '' })}`;
  server.ledger.length = 0;
  const signIn = () => linkSteps(fixture).signIn(open.body.token, 0, { credentials: {}, one_time_code: undefined });
  for (const attempt of [await signIn(), await relink()]) {
    expect([attempt.status, attempt.body.code]).toStrictEqual([400, 'search_params_required']);
  }
  expect(server.ledger).toStrictEqual([]);
  await fixture.owner`UPDATE emr_apps SET search_params = ${fixture.owner.json({ 'ah-practice': 'another' })}`;
  expect(await refused(practice(3))).toStrictEqual([
    ...[400, 'invalid_field'],
    'search_params must not contain ah-practice, for which the EMR app has another value',
  ]);
  await fixture.owner`UPDATE accounts SET status = 'revoked' WHERE emr_app_id = ${app.id}`;
  expect((await change({})).status).toBe(200);
});
