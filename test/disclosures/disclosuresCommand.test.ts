import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { newId } from '../../src/catalog/ids.ts';
import { sealAudit } from '../../src/product/audit/seals.ts';
import { collectDisclosures } from '../../src/product/disclosures/disclosures.ts';
import { disclosuresCommand } from '../../src/surfaces/cli/disclosures.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';

let fixture: TestSandbox;
let mrn: string;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  mrn = fixture.sandbox.example.patient_mrn;
  await fixture.api.call('GET', `/v1/patients?mrn=${mrn}`);
  await sealAudit(fixture.ctx);
  await collectDisclosures(fixture.ctx);
});
afterAll(() => fixture.close());
afterEach(() => {
  process.exitCode = undefined;
});

type Values = Partial<Parameters<typeof disclosuresCommand>[1]>;

/** What the command prints to the two outputs. */
async function run(values: Values = {}) {
  const print = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  const report = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  onTestFinished(() => {
    print.mockRestore();
    report.mockRestore();
  });
  const { client_id, org_id } = fixture.sandbox;
  try {
    await disclosuresCommand(fixture.ctx.config, {
      client: client_id,
      org: org_id,
      patient: mrn,
      format: 'table',
      ...values,
    });
    return {
      stdout: print.mock.calls.map(([text]) => text).join(''),
      stderr: report.mock.calls.map(([text]) => text).join(''),
    };
  } finally {
    print.mockRestore();
    report.mockRestore();
  }
}

test('prints who received data as a table, says what the patient’s record is, and is recorded with the patient', async () => {
  const { stdout, stderr } = await run();
  expect(stdout).toMatch(/^FIRST \(UTC\) +LAST \(UTC\) +COUNT +KIND +RECIPIENT +WHAT +WHERE\n/);
  expect(stdout).toMatch(/ read +Sandbox, \S+ +patients\.list +127\.0\.0\.1/);
  expect(stdout + stderr).not.toContain(mrn);
  expect(stderr).toContain('The patient is among the cached records.');
  const [record] = await fixture.owner`SELECT actor, outcome, cardinality(patients) AS patients, detail::text AS detail
    FROM audit_records WHERE action = 'audit.disclosures' ORDER BY id DESC LIMIT 1`;
  expect(record).toMatchObject({ actor: 'command line', outcome: 'ok', patients: 1 });
  expect(record?.detail).not.toContain(mrn);
});

test('writes CSV and JSON to a file or the standard output, and replaces a file only if told to', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'disclosures-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const output = join(folder, 'list.csv');
  await run({ format: 'csv', output });
  expect(await readFile(output, 'utf8')).toContain('"read","Sandbox"');
  await expect(run({ format: 'csv', output })).rejects.toThrow('To replace it, add --force.');
  await run({ format: 'csv', output, force: true });
  const { stdout } = await run({ format: 'json' });
  expect(JSON.parse(stdout)).toMatchObject({ patient: { standing: 'stored' } });
});

test('compares the list with the audit log, and fails if they differ', async () => {
  expect((await run({ verify: true })).stderr).toMatch(
    /Verified: \d+ disclosures in the audit log, all of them listed\./,
  );
  expect(process.exitCode).toBeUndefined();
  const [changed] = await fixture.owner<{ key: string }[]>`
    UPDATE disclosures SET count = count + 1 WHERE action = 'patients.list' RETURNING key`;
  expect(changed).toBeDefined();
  const { stderr } = await run({ verify: true });
  expect(stderr).toMatch(/The list differs from the audit log on: \d{4}-\d\d-\d\d\. The audit log is the evidence\./);
  expect(process.exitCode).toBe(1);
  await fixture.owner`UPDATE disclosures SET count = count - 1 WHERE action = 'patients.list'`;
});

test('lists a period, and what one account received', async () => {
  expect((await run({ since: '2001-01-01', until: '2001-12-31' })).stdout).toBe('No disclosures in this period.\n');
  expect((await run({ account: fixture.sandbox.access_token_reference_id })).stdout).toContain('patients.list');
});

test('finds the disclosures of a client that was erased by its ID in the audit log', async () => {
  const client = newId();
  const entry = {
    client_id: client,
    actor_kind: 'client',
    actor: 'ci_x',
    action: 'orders.list',
    outcome: '200',
  } as const;
  await fixture.ctx.audit.record({ ...entry, mrns: ['A1'] });
  await sealAudit(fixture.ctx);
  const { stdout } = await run({ client, org: undefined, patient: 'A1' });
  expect(stdout).toMatch(/ read +erased application +orders\.list/);
});

test.each<[string, Values, RegExp]>([
  ['no patient', { patient: undefined }, /^--patient must be the MRN/],
  ['an unknown client', { client: 'ci_test_none' }, /^--client must be/],
  ['an unknown practice', { org: 'none' }, /^--org must be/],
  ['an unknown account', { account: 'none' }, /^--account must be/],
  ['a day that does not exist', { since: '2031-02-30' }, /^--since must be a day/],
  ['a time instead of a day', { until: '2031-02-03T10:00:00Z' }, /^--until must be a day/],
  ['a file without a format', { output: 'x' }, /^--output needs --format/],
])('explains what is wrong with %s', async (_what, values, message) => {
  await expect(run(values)).rejects.toThrow(message);
});
