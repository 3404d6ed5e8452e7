import { beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { newId } from '../../src/catalog/ids.ts';
import { settings } from '../../src/catalog/settings/config.ts';
import { run } from '../../src/surfaces/cli/run.ts';
import { runCommand, type TestSandbox } from '../harness/sandbox.ts';
import { sharedSandbox } from '../harness/sharedSandbox.ts';
import { withJobsPaused } from '../spec/support/pauseJobs.ts';
import { createPatient, newTenant, type Tenant, tablesWith } from './fixture.ts';

let fixture: TestSandbox;
/** Not erased by any test. */
let kept: Tenant;
beforeAll(async () => {
  fixture = await sharedSandbox();
  kept = await newTenant(fixture, 'keptcommand');
});

/** Runs the command in this process, which takes a tenth of the time of a new one. */
async function erase(...args: string[]): Promise<{ code: number | string; stdout: string; stderr: string }> {
  // The test runner sets some of them for itself.
  for (const name of Object.keys(settings)) vi.stubEnv(name, fixture.env[name] ?? '');
  const stdout = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const restore = () => {
    vi.unstubAllEnvs();
    stdout.mockRestore();
    stderr.mockRestore();
    process.exitCode = undefined;
  };
  onTestFinished(restore);
  await run(['erase', ...args], () => import('../../src/main.ts'));
  const result = {
    code: process.exitCode ?? 0,
    stdout: stdout.mock.calls.join(''),
    stderr: stderr.mock.calls.join(''),
  };
  restore();
  return result;
}

const organizationOptions = ({ client_id, org_id }: Tenant) => ['--client', client_id, '--org', org_id];

/** The printed number of rows of a table, if any. */
function readCount(printed: string, table: string): number | undefined {
  const [, count] = new RegExp(`^${table} +(\\d+)$`, 'm').exec(printed) ?? [];
  return count === undefined ? undefined : Number(count);
}

const readRecords = (tenant: Tenant) =>
  fixture.owner`SELECT action, outcome, actor, subject, detail, cardinality(patients) AS patients FROM audit_records
    WHERE client_id = ${tenant.id} AND actor = 'command line' ORDER BY id`;

test('without --yes only counts, and with it erases a patient and records that', async () => {
  const tenant = await newTenant(fixture, 'commandpatient');
  const word = 'Commandsurname';
  const { mrn, id } = await createPatient(tenant.linked, word);
  const subject = ['patient', ...organizationOptions(tenant), '--patient', mrn];
  const counted = await erase(...subject);
  expect(counted).toMatchObject({ code: 0, stderr: '' });
  expect(readCount(counted.stdout, 'patients')).toBe(1);
  expect(counted.stdout).toContain('unfinished jobs: 0');
  expect(counted.stdout).toMatch(/\nNothing was erased\. To erase this, add --yes\.\n$/);
  expect(counted.stdout).not.toContain(word);
  expect(await tablesWith(fixture, tenant, word)).toContain('patients');
  expect(await readRecords(tenant), 'a count is not recorded as an erasure').toHaveLength(0);

  const erased = await erase(...subject, '--yes');
  expect(erased).toMatchObject({ code: 0, stderr: '' });
  expect(readCount(erased.stdout, 'operations')).toBe(readCount(counted.stdout, 'operations'));
  expect(erased.stdout).toMatch(/\nErased\. This is recorded in the audit log\.\n$/);
  expect([
    await tablesWith(fixture, tenant, word),
    await tablesWith(fixture, tenant, mrn),
    await tablesWith(fixture, tenant, id),
  ]).toStrictEqual([[], [], ['audit_records']]);
  const [record, ...more] = await readRecords(tenant);
  expect(record).toMatchObject({ action: 'erase.patient', outcome: 'erased', subject: id, patients: 1 });
  expect(record?.detail).toMatchObject({ rows: { patients: 1 } });
  expect(more).toHaveLength(0);

  const again = await erase(...subject, '--yes');
  expect(again).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('--patient must be') });
  expect(await readRecords(tenant)).toHaveLength(1);
});

test('refuses to erase a patient with an unfinished job', async () => {
  const tenant = await newTenant(fixture, 'commandbusy');
  const { mrn, id } = await createPatient(tenant.linked, 'Commandbusy');
  await withJobsPaused(fixture, async () => {
    await tenant.linked.callIn({ patient_mrn: mrn });
    const refused = await erase('patient', ...organizationOptions(tenant), '--patient', id, '--yes');
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(/1 .*job.*If the service is not running, start it\.\n$/);
  });
  expect(await fixture.owner`SELECT FROM patients WHERE id = ${id}`).toHaveLength(1);
});

test('erases a practice, and then its client', async () => {
  const tenant = await newTenant(fixture, 'commandpractice');
  const practice = await erase('practice', ...organizationOptions(tenant), '--yes');
  expect(practice, practice.stderr).toMatchObject({ code: 0 });
  expect([readCount(practice.stdout, 'organizations'), readCount(practice.stdout, 'clients')]).toStrictEqual([
    1,
    undefined,
  ]);
  expect(await fixture.owner`SELECT FROM clients WHERE id = ${tenant.id}`).toHaveLength(1);

  const counted = await erase('client', '--client', tenant.client_id);
  expect(readCount(counted.stdout, 'clients')).toBe(1);
  const client = await erase('client', '--client', tenant.client_id, '--yes');
  expect(client, client.stderr).toMatchObject({ code: 0 });
  expect(await fixture.owner`SELECT FROM clients WHERE id = ${tenant.id}`).toHaveLength(0);
  expect((await readRecords(tenant)).map(({ action, subject }) => [action, subject])).toStrictEqual([
    ['erase.organization', tenant.organization_id],
    ['erase.client', tenant.id],
  ]);
});

test('refuses what it does not know, or what could mean something else, and changes nothing', async () => {
  const practice = organizationOptions(kept);
  const foreign = await newTenant(fixture, 'commandforeign');
  const cases: [args: string[], message: RegExp][] = [
    [['--client', kept.client_id], /^Specify what to erase: client, practice or patient\./],
    [['everything', '--client', kept.client_id], /^Specify what to erase/],
    [['client', kept.client_id], /^Unknown command/],
    [['client'], /^--client must be the client_id of an existing client\./],
    [['client', '--client', 'ci_test_unknown'], /^--client must be/],
    // By this command the whole client would go, not only the practice.
    [['client', ...practice], /^--org is not an option of: chartwire erase client/],
    [['practice', ...practice, '--patient', 'LK1'], /^--patient is not an option of: chartwire erase practice/],
    [['practice', '--client', kept.client_id], /^--org must be the org_id of a practice of this client\./],
    [['practice', '--client', kept.client_id, '--org', foreign.org_id], /^--org must be/],
    [['practice', '--client', kept.client_id, '--org', foreign.organization_id], /^--org must be/],
    [['patient', ...practice], /^--patient must be the ID or the MRN of a patient in this practice\./],
    [['patient', ...practice, '--patient', 'unknown'], /^--patient must be/],
    [['patient', ...practice, '--patient', newId()], /^--patient must be/],
    [['patient', ...practice, '--force'], /^Unknown option '--force'/],
  ];
  const stored = async () => {
    const [row] = await fixture.owner`SELECT count(*) AS rows, sum(hashtext(patients::text)) AS content,
        (SELECT count(*) FROM erased_patients WHERE client_id = ${kept.id}) AS erased
      FROM patients WHERE client_id = ${kept.id}`;
    return row;
  };
  const before = await stored();
  for (const [args, message] of cases) {
    const refused = await erase(...args, '--yes');
    expect(refused, args.join(' ')).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(message) });
  }
  expect(await stored()).toStrictEqual(before);
  expect(await readRecords(kept)).toHaveLength(0);
  expect((await kept.linked.call('GET', '/v1/staff')).status).toBe(200);
});

test('ends with exit code 0 after a count, and 1 with one sentence after a refusal', async () => {
  const counted = await runCommand(['erase', 'client', '--client', kept.client_id], fixture.env);
  expect(counted).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('Nothing was erased.') });
  const refused = await runCommand(['erase', 'client', ...organizationOptions(kept), '--yes'], fixture.env);
  expect(refused).toStrictEqual({
    ...{ code: 1, stdout: '' },
    stderr: '--org is not an option of: chartwire erase client\n',
  });
});
