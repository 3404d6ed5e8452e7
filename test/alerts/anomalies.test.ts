import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../src/catalog/ids.ts';
import { evaluateAlerts } from '../../src/product/alerts/evaluateAlerts.ts';
import { sealAudit } from '../../src/product/audit/seals.ts';
import type { AuditEntry } from '../../src/product/context.ts';
import { collectDisclosures } from '../../src/product/disclosures/disclosures.ts';
import { measureQueues } from '../../src/product/jobs/queueDepth.ts';
import { formatNetwork, noteNetwork } from '../../src/product/operators/operatorNetworks.ts';
import { newOperator, sendAnonymously, signInOperator, type TestOperator } from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { until } from '../journeys/support.ts';

let fixture: TestSandbox;
let operator: TestOperator;
let client_id: string;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  operator = await signInOperator(fixture);
  const [row] = await fixture.owner<{ id: string }[]>`SELECT id FROM clients`;
  client_id = row?.id ?? '';
});
afterAll(() => fixture.close());
afterEach(async () => {
  await fixture.owner`TRUNCATE alerts`;
});

type Alert = { code: string; summary: string; page: string; count: number };

/** The open alerts of a code after an evaluation with these thresholds. The evaluations of the service itself use its own. */
async function evaluate(code: string, settings: Record<string, number> = {}): Promise<Alert[]> {
  const ctx = { ...fixture.ctx, config: { ...fixture.ctx.config, ...settings } };
  return until('an evaluation', async () => {
    const now = new Date();
    await evaluateAlerts(ctx, now);
    // One that the service has started at the same moment is in the way.
    const rows = await fixture.owner<(Alert & { done: boolean })[]>`
      SELECT code, summary, page, count, last_seen_at = ${now} AS done FROM alerts
       WHERE code = ${code} AND resolved_at IS NULL ORDER BY summary`;
    return rows.every(({ done }) => done) && rows;
  });
}

const record = (entry: Partial<AuditEntry>) =>
  fixture.ctx.audit.record({
    ...{ client_id, actor_kind: 'client', actor: 'ci_x', action: 'patients.list', outcome: '200' },
    ...entry,
  } as AuditEntry);

/** Moves everything that the alerts count an hour and more into the past. */
async function passHours(hours: number): Promise<void> {
  await fixture.owner`UPDATE patient_reads SET hour = hour - make_interval(hours => ${hours})`;
  await fixture.owner`UPDATE operator_networks SET new_at = new_at - make_interval(hours => ${hours})`;
  // The time of a record is in its ID.
  await fixture.owner`DELETE FROM audit_records`;
  await fixture.owner`DELETE FROM requests`;
}

describe('many patients read', () => {
  const read = async (mrns: readonly string[], entry: Partial<AuditEntry> = {}) => {
    await record({ mrns, ...entry });
    await until('the collection', async () => {
      await sealAudit(fixture.ctx);
      await collectDisclosures(fixture.ctx);
      const [row] = await fixture.owner`SELECT FROM disclosure_progress
        WHERE id = (SELECT id FROM audit_records ORDER BY position DESC NULLS FIRST LIMIT 1)`;
      return row;
    });
  };
  const some = (count: number) => Array.from({ length: count }, newId);

  test('an alert is open from as many different patients of a client within an hour as the setting says, until it has passed', async () => {
    await read(some(300));
    await read(some(200));
    const [alert, ...others] = await evaluate('many_patients_read', { alert_patients_per_hour: 500 });
    expect(others).toStrictEqual([]);
    expect(alert?.summary).toMatch(/^About 5\d\d different patients were read in the hour from \d\d:00 UTC on\.$/);
    expect(alert?.page).toBe('/audit');
    await passHours(2);
    expect(await evaluate('many_patients_read', { alert_patients_per_hour: 500 })).toStrictEqual([]);
  });

  test('no alert is open for the same patients read again and again, for what operators and jobs do, or if it is off', async () => {
    await passHours(3);
    const mrns = some(50);
    for (let n = 0; n < 20; n++) await read(mrns);
    await read(some(100), { actor_kind: 'operator', actor: 'o@example.test', action: 'dashboard.patients.search' });
    await read(some(100), { actor_kind: 'worker', actor: 'worker', action: 'webhook.deliver' });
    await read(some(100), { outcome: '404' });
    expect(await evaluate('many_patients_read', { alert_patients_per_hour: 51 })).toStrictEqual([]);
    expect(await evaluate('many_patients_read', { alert_patients_per_hour: 50 })).toHaveLength(1);
    expect(await evaluate('many_patients_read', { alert_patients_per_hour: 0 })).toStrictEqual([]);
  });

  test('more patients than are counted exactly are estimated within a tenth', async () => {
    await passHours(3);
    for (let n = 0; n < 5; n++) await read(some(2_000));
    expect(await evaluate('many_patients_read', { alert_patients_per_hour: 11_000 })).toStrictEqual([]);
    expect(await evaluate('many_patients_read', { alert_patients_per_hour: 9_000 })).toHaveLength(1);
  });
});

describe('many reveals', () => {
  const reveal = (actor: string, outcome = '200') =>
    record({ actor_kind: 'operator', actor, action: 'dashboard.reveals.create', outcome, mrns: ['1'] });

  test('an alert is open from as many reveals of one operator within an hour as the setting says', async () => {
    for (let n = 0; n < 5; n++) await reveal('curious@example.test');
    await reveal('other@example.test');
    expect(await evaluate('many_reveals', { alert_reveals_per_hour: 5 })).toMatchObject([
      {
        ...{ summary: 'curious@example.test revealed patient details 5 times in the last hour.', count: 5 },
        page: '/audit?action=dashboard.reveals.create&actor=curious%40example.test',
      },
    ]);
    await passHours(1);
    expect(await evaluate('many_reveals', { alert_reveals_per_hour: 5 })).toStrictEqual([]);
  });

  test('no alert is open for fewer, for those of several operators together, for denied ones, or if it is off', async () => {
    for (let n = 0; n < 4; n++) await reveal(`operator-${n % 2}@example.test`);
    for (let n = 0; n < 5; n++) await reveal('operator-1@example.test', '403');
    expect(await evaluate('many_reveals', { alert_reveals_per_hour: 3 })).toStrictEqual([]);
    expect(await evaluate('many_reveals', { alert_reveals_per_hour: 0 })).toStrictEqual([]);
  });
});

describe('many exports', () => {
  test('an alert is open from as many exported files of one operator within an hour as the setting says', async () => {
    for (let n = 0; n < 2; n++) await operator.get('audit.csv?action=patients.list');
    await operator.post('clients/{client}/jobs/export.csv', { state: 'failed' });
    const summary = `${fixture.sandbox.dashboard.email} exported 3 files in the last hour.`;
    expect(await evaluate('many_exports', { alert_exports_per_hour: 3 })).toMatchObject([{ summary }]);
    await passHours(1);
    expect(await evaluate('many_exports', { alert_exports_per_hour: 3 })).toStrictEqual([]);
  });

  test('no alert is open for fewer exports, for pages that are only shown, or if it is off', async () => {
    await operator.get('audit.csv?action=patients.list');
    for (let n = 0; n < 5; n++) await operator.get('audit?page_size=1');
    expect(await evaluate('many_exports', { alert_exports_per_hour: 2 })).toStrictEqual([]);
    expect(await evaluate('many_exports', { alert_exports_per_hour: 0 })).toStrictEqual([]);
  });
});

describe('a sign-in from a new network', () => {
  const settings = { alert_new_network_days: 90 };
  const use = (id: string, address: string) =>
    noteNetwork({ ...fixture.ctx, config: { ...fixture.ctx.config, ...settings } }, id, address);

  test('an alert is open for a day after an operator signs in from a network that was not used for as long as the setting says', async () => {
    const { id, email } = await newOperator(fixture, 'support');
    await passHours(48);
    await use(id, '203.0.113.7');
    expect(await evaluate('new_sign_in_network', settings)).toMatchObject([
      { summary: `${email} signed in from the network 203.0.113.0/24.` },
    ]);
    await passHours(25);
    expect(await evaluate('new_sign_in_network', settings)).toStrictEqual([]);
    await fixture.owner`UPDATE operator_networks SET seen_at = now() - interval '91 days' WHERE network LIKE '203.%'`;
    await use(id, '203.0.113.8');
    expect(await evaluate('new_sign_in_network', settings)).toHaveLength(1);
    await passHours(25);
  });

  test('no alert is open for a first sign-in, for another address of the same network, or if it is off', async () => {
    const { id } = await newOperator(fixture, 'support');
    await passHours(48);
    await use(id, '127.0.0.99');
    await use(id, '::ffff:127.0.0.5');
    await signInOperator(fixture);
    await newOperator(fixture, 'support');
    expect(await evaluate('new_sign_in_network', settings)).toStrictEqual([]);
    await use(id, '2001:db8:1:2::3');
    expect(await evaluate('new_sign_in_network')).toStrictEqual([]);
    expect(await evaluate('new_sign_in_network', settings)).toHaveLength(1);
  });

  test.each([
    ['203.0.113.7', '203.0.113.0/24'],
    ['::ffff:203.0.113.7', '203.0.113.0/24'],
    ['2001:db8:1:2::3', '2001:db8:1::/48'],
    ['fe80::1%eth0', 'fe80::/48'],
    ['not an address', undefined],
  ])('the address %s belongs to the network %s', (address, network) => {
    expect(formatNetwork(address)).toBe(network);
  });
});

describe('many refused sign-ins', () => {
  const signIn = (password: string) =>
    sendAnonymously(fixture, 'session', { email: fixture.sandbox.dashboard.email, password });

  test('an alert is open from as many refused sign-ins of operators within an hour as the setting says', async () => {
    await passHours(1);
    for (let n = 0; n < 4; n++) expect((await signIn(`wrong ${n}`)).status).toBe(401);
    expect(await evaluate('sign_ins_refused', { alert_refused_sign_ins: 4 })).toMatchObject([
      { summary: '4 sign-ins of operators were refused in the last hour, from 1 address.' },
    ]);
    await passHours(1);
    expect(await evaluate('sign_ins_refused', { alert_refused_sign_ins: 4 })).toStrictEqual([]);
  });

  test('no alert is open for sign-ins that succeed, for fewer refused ones, or if it is off', async () => {
    await passHours(1);
    await fixture.owner`DELETE FROM sign_in_attempts`;
    for (let n = 0; n < 3; n++) await signInOperator(fixture);
    for (const outcome of ['created', 'linked', 'identity confirmed']) {
      await record({ client_id: null, actor_kind: 'operator', actor: 'o', action: 'operator.sign_in', outcome });
    }
    await signIn('wrong');
    expect(await evaluate('sign_ins_refused', { alert_refused_sign_ins: 2 })).toStrictEqual([]);
    expect(await evaluate('sign_ins_refused', { alert_refused_sign_ins: 0 })).toStrictEqual([]);
  });
});

describe('many refused credentials', () => {
  const logged = (count: number) =>
    until('the request log', async () => {
      const rows = await fixture.owner`SELECT FROM requests WHERE client_id IS NULL`;
      return rows.length >= count;
    });

  test('an alert is open from as many API requests with wrong credentials within an hour as the setting says', async () => {
    await passHours(1);
    const wrong: Record<string, string>[] = [{ client_secret: 'cs_test_wrong' }, { access_token: 'at_test_wrong' }];
    for (const headers of wrong) {
      for (let n = 0; n < 2; n++) expect((await fixture.api.call('GET', '/v1/patients', { headers })).status).toBe(401);
    }
    await until('the request log', async () => {
      const rows = await fixture.owner`SELECT FROM requests WHERE status = 401`;
      return rows.length === 4;
    });
    expect(await evaluate('credentials_refused', { alert_refused_credentials: 4 })).toMatchObject([
      {
        summary: '4 API requests with invalid credentials were refused in the last hour.',
        page: '/requests?status=failed',
      },
    ]);
    await passHours(1);
    expect(await evaluate('credentials_refused', { alert_refused_credentials: 4 })).toStrictEqual([]);
  });

  test('no alert is open for requests that are accepted, wrong for another reason, or without credentials, or if it is off', async () => {
    await passHours(1);
    await fixture.api.call('GET', '/v1/patients?page_size=1');
    await fixture.api.call('GET', '/v1/patients?page=-1');
    await fixture.api.call('GET', '/v1/nothing');
    await fixture.api.call('GET', '/v1/patients', { headers: { client_secret: 'cs_test_wrong' } });
    await logged(1);
    expect(await evaluate('credentials_refused', { alert_refused_credentials: 2 })).toStrictEqual([]);
    expect(await evaluate('credentials_refused', { alert_refused_credentials: 0 })).toStrictEqual([]);
  });
});

test('the defaults open no alert in a sandbox that is used', async () => {
  await fixture.api.call('GET', '/v1/patients?page_size=100');
  await fixture.api.callIn();
  await operator.get('audit.csv?action=patients.list');
  await sealAudit(fixture.ctx);
  await collectDisclosures(fixture.ctx);
  const codes = ['many_patients_read', 'many_reveals', 'many_exports', 'new_sign_in_network', 'sign_ins_refused'];
  for (const code of [...codes, 'credentials_refused']) expect(await evaluate(code)).toStrictEqual([]);
});

test('metrics have the number of open alerts by code', async () => {
  await record({ actor_kind: 'operator', actor: 'o', action: 'dashboard.reveals.create', mrns: ['1'] });
  expect(await evaluate('many_reveals', { alert_reveals_per_hour: 1 })).toHaveLength(1);
  await measureQueues(fixture.ctx);
  const { values } = await fixture.ctx.metrics.alerts_open.get();
  expect(values).toContainEqual(expect.objectContaining({ labels: { code: 'many_reveals' }, value: 1 }));
  await fixture.owner`TRUNCATE alerts`;
  await measureQueues(fixture.ctx);
  expect((await fixture.ctx.metrics.alerts_open.get()).values).toStrictEqual([]);
});

test('the summaries of anomalies contain no health data', async () => {
  const { mrn }: { mrn: string } = (await fixture.api.call('GET', '/v1/patients?page_size=1')).body.patients[0];
  await record({ actor_kind: 'operator', actor: 'o', action: 'dashboard.reveals.create', mrns: [mrn] });
  const alerts = await evaluate('many_reveals', { alert_reveals_per_hour: 1 });
  expect(JSON.stringify(alerts)).not.toContain(mrn);
});
