import { beforeAll, describe, expect, test } from 'vitest';
import { type ErasureCounts, erase, planErasure } from '../../src/product/erasure/erase.ts';
import { findOrganizationScope, findPatientScope } from '../../src/product/erasure/scopes.ts';
import { type ErasureScope, erasableTables } from '../../src/product/erasure/tables.ts';
import { signInOperator, type TestOperator } from '../harness/operator.ts';
import type { TestSandbox } from '../harness/sandbox.ts';
import { sharedSandbox } from '../harness/sharedSandbox.ts';
import { until } from '../journeys/support.ts';
import { withJobsPaused } from '../spec/support/pauseJobs.ts';
import { createPatient, newTenant, type Tenant, tablesWith } from './fixture.ts';

let fixture: TestSandbox;
let operator: TestOperator;
beforeAll(async () => {
  fixture = await sharedSandbox();
  operator = await signInOperator(fixture);
});

const noRecord = async () => {};

test('every table with rows of a client is erased with it, except the audit log', async () => {
  const tables = await fixture.owner<{ name: string }[]>`SELECT table_name AS name FROM information_schema.columns
    WHERE table_schema = 'public' AND column_name = 'client_id' ORDER BY table_name`;
  const listed = erasableTables().map(([table]) => table);
  const missing = tables.map(({ name }) => name).filter((name) => !listed.includes(name));
  expect(missing).toStrictEqual(['audit_records', 'disclosures', 'disposals']);
});

describe('a patient', () => {
  test('is erased with everything that names them, by count and with a record, and does not return', async () => {
    const tenant = await newTenant(fixture, 'plantpatient');
    const word = 'Plantedsurname';
    const { mrn, id } = await createPatient(tenant.linked, word);
    const others = await fixture.owner`SELECT FROM patients WHERE client_id = ${tenant.id} AND id <> ${id}`;
    const path = `clients/${tenant.client_id}/organizations/${tenant.organization_id}/patients/${id}/erase`;
    const planned = await operator.post(path, { dry_run: true });
    expect(planned.status, JSON.stringify(planned.body)).toBe(200);
    expect(planned.body.erasure).toMatchObject({ erased: false, unfinished_jobs: 0 });
    expect(await tablesWith(fixture, tenant, word), 'a dry run deletes nothing').toEqual(
      expect.arrayContaining(['patients', 'operations', 'events']),
    );
    const erased = await operator.post(path, { dry_run: false });
    // Attempts to deliver the events go on in between.
    const counts = ({ erasure }: { erasure: { rows: { table: string }[] } }) =>
      erasure.rows.filter(({ table }) => table !== 'delivery_attempts');
    expect(counts(erased.body)).toStrictEqual(counts(planned.body));
    expect(erased.body.erasure.erased).toBe(true);
    expect([await tablesWith(fixture, tenant, word), await tablesWith(fixture, tenant, mrn)]).toStrictEqual([[], []]);
    expect(await fixture.owner`SELECT FROM patients WHERE client_id = ${tenant.id}`).toHaveLength(others.length);
    const [record] = await fixture.owner`SELECT action, outcome, subject, detail, cardinality(patients) AS patients
      FROM audit_records WHERE request_id = ${erased.headers.get('x-request-id')}`;
    const rows = Object.fromEntries(
      erased.body.erasure.rows.map((each: { table: string; rows: number }) => [each.table, each.rows]),
    );
    expect(record).toStrictEqual({
      ...{ action: 'dashboard.patients.erase', outcome: '200', subject: id, patients: 1 },
      detail: { erased: 'patient', rows },
    });
    await tenant.linked.sync();
    expect(await tablesWith(fixture, tenant, word), 'a sync does not bring the patient back').toStrictEqual([]);
  });

  test('is erased with insurances and eligibility checks, which a sync does not bring back', async () => {
    const tenant = await newTenant(fixture, 'plantcover');
    const { mrn, id } = await createPatient(tenant.linked, 'Coveredsurname');
    const [chart] = (await fixture.api.control('GET', `/control/patients?mrn=${mrn}`)).body.rows;
    const policy = { patientId: chart.patientId, companyName: 'Mock Mutual', subscriberNumber: 'OWNCOVER-1' };
    const check = { patientId: chart.patientId, insuranceId: '1', subscriberNumber: 'OWNCOVER-2', statusCode: 'ACT' };
    expect((await fixture.api.control('POST', '/control/patient-insurances', policy)).status).toBe(201);
    expect((await fixture.api.control('POST', '/control/eligibility-checks', check)).status).toBe(201);
    const body = { member_id: 'OWNCOVER-3', insurance_name: 'Mock Mutual' };
    const added = await tenant.linked.call('POST', `/v1/patients/${mrn}/insurances`, { body });
    await tenant.linked.untilEvent(added.body.job_id);
    await tenant.linked.sync();
    expect(await tablesWith(fixture, tenant, 'OWNCOVER-1')).toContain('patient_insurances');
    expect(await tablesWith(fixture, tenant, 'OWNCOVER-2')).toStrictEqual(['eligibility_checks']);
    expect(await tablesWith(fixture, tenant, 'OWNCOVER-3')).toContain('patient_insurances');
    const path = `clients/${tenant.client_id}/organizations/${tenant.organization_id}/patients/${id}/erase`;
    expect((await operator.post(path, { dry_run: false })).body.erasure.erased).toBe(true);
    expect(await tablesWith(fixture, tenant, 'OWNCOVER')).toStrictEqual([]);
    await tenant.linked.sync();
    expect(await tablesWith(fixture, tenant, 'OWNCOVER')).toStrictEqual([]);
  });

  test('the erasure of a patient with an unfinished job is refused, and the job runs', async () => {
    const tenant = await newTenant(fixture, 'busypatient');
    const { mrn, id } = await createPatient(tenant.linked, 'Busysurname');
    const { client_id, organization_id } = { client_id: tenant.id, organization_id: tenant.organization_id };
    const job_id = await withJobsPaused(fixture, async () => {
      const { body } = await tenant.linked.callIn({ patient_mrn: mrn });
      const scope = await findPatientScope(fixture.ctx, { client_id, organization_id }, mrn);
      expect((await planErasure(fixture.ctx, scope)).unfinished_jobs).toBe(1);
      await expect(erase(fixture.ctx, scope, noRecord)).rejects.toMatchObject({ code: 'erasure_blocked' });
      return body.job_id;
    });
    expect((await tenant.linked.untilEvent(job_id)).event_type).toBe('telephone_encounter.created');
    expect(await fixture.owner`SELECT FROM patients WHERE id = ${id}`).toHaveLength(1);
  });
});

describe('a patient with a write that is accepted after the erasure was confirmed', () => {
  async function scopeBeforeWrite(name: string) {
    const tenant = await newTenant(fixture, name);
    const { mrn } = await createPatient(tenant.linked, `Surname${name}`);
    const { id: client_id, organization_id } = tenant;
    return { tenant, mrn, scope: await findPatientScope(fixture.ctx, { client_id, organization_id }, mrn) };
  }

  test('is not erased while the write is unfinished', async () => {
    const { tenant, mrn, scope } = await scopeBeforeWrite('latewriter');
    await withJobsPaused(fixture, async () => {
      await tenant.linked.callIn({ patient_mrn: mrn });
      await expect(erase(fixture.ctx, scope, noRecord)).rejects.toMatchObject({ code: 'erasure_blocked' });
    });
  });

  test('is erased with the write once it has finished', async () => {
    const { tenant, mrn, scope } = await scopeBeforeWrite('latefinisher');
    const { body } = await tenant.linked.callIn({ patient_mrn: mrn });
    await tenant.linked.untilEvent(body.job_id);
    await erase(fixture.ctx, scope, noRecord);
    expect(await tablesWith(fixture, tenant, mrn)).toStrictEqual([]);
  });
});

describe('a practice', () => {
  test('is erased with its accounts, records, jobs and keys; other practices stay', async () => {
    const tenant = await newTenant(fixture, 'plantpractice');
    const kept = `${tenant.org_id}-kept`;
    await tenant.linked.link({ user_id: 'kept-user', org_id: kept, staff: 9 });
    await createPatient(tenant.linked, 'Practicesurname');
    const accounts = await fixture.owner<{ id: string }[]>`
      SELECT id FROM accounts WHERE organization_id = ${tenant.organization_id}`;
    const scope = await findScope(tenant);
    const planned = await planErasure(fixture.ctx, scope);
    expect(planned).toMatchObject({ linked_accounts: 1, rows: { accounts: 1, organizations: 1, data_keys: 1 } });
    let recorded: ErasureCounts = {};
    const erased = await erase(fixture.ctx, scope, async (_tx, rows) => {
      recorded = rows;
    });
    expect(recorded).toStrictEqual(erased);
    expect(erased).toMatchObject({ accounts: 1, organizations: 1, patients: planned.rows.patients });
    expect([
      await tablesWith(fixture, tenant, 'Asked for Practicesurname'),
      await tablesWith(fixture, tenant, 'plantpractice-user'),
    ]).toStrictEqual([
      [],
      // The actor of the link.
      ['audit_records'],
    ]);
    for (const { id } of accounts) {
      expect(await fixture.owner`SELECT FROM data_keys WHERE owner_id = ${id}`, 'its data key').toHaveLength(0);
    }
    const left = await fixture.owner<{ org_id: string }[]>`
      SELECT org_id FROM organizations WHERE client_id = ${tenant.id}`;
    expect(left.map(({ org_id }) => org_id)).toStrictEqual([kept]);
    expect((await tenant.linked.call('GET', '/v1/staff')).status).toBe(401);
  });

  test('waits for the jobs of its accounts: they fail, nothing is written, and only then it is erased', async () => {
    const tenant = await newTenant(fixture, 'waitpractice');
    const scope = await findScope(tenant);
    const { erasing, patient_id } = await withJobsPaused(fixture, async () => {
      const body = { first_name: 'Ida', last_name: 'Waiting', dob: '1980-02-03', sex: 'female' };
      const created = await tenant.linked.call('POST', '/v1/patients', { body });
      const erasing = erase(fixture.ctx, scope, noRecord);
      await until('the account to be unlinked', async () => {
        const unlinked =
          await fixture.owner`SELECT FROM accounts WHERE client_id = ${tenant.id} AND status = 'revoked'`;
        return unlinked.length > 0;
      });
      expect(await fixture.owner`SELECT FROM organizations WHERE client_id = ${tenant.id}`).toHaveLength(1);
      return { erasing, patient_id: created.body.patient_id };
    });
    expect(await erasing).toMatchObject({ jobs: expect.any(Number), organizations: 1 });
    expect((await fixture.api.ledger()).filter(({ marker }) => marker.startsWith(patient_id))).toStrictEqual([]);
    const records = await fixture.owner<{ outcome: string }[]>`SELECT outcome FROM audit_records
      WHERE client_id = ${tenant.id} AND action = 'job.patient.create'`;
    expect(records.map(({ outcome }) => outcome)).toStrictEqual(['failed']);
  });
});

test('a client is erased with everything but its audit records', async () => {
  const tenant = await newTenant(fixture, 'plantclient');
  await createPatient(tenant.linked, 'Clientsurname');
  const response = await operator.post(`clients/${tenant.client_id}/erase`, { dry_run: false });
  expect(response.status, JSON.stringify(response.body)).toBe(200);
  expect(response.body.erasure.rows).toContainEqual({ table: 'clients', rows: 1 });
  expect(await tablesWith(fixture, tenant, 'Clientsurname')).toStrictEqual([]);
  for (const [table] of erasableTables()) {
    const column = table === 'clients' ? 'id' : 'client_id';
    const rows = await fixture.owner`SELECT FROM ${fixture.owner(table)}
      WHERE ${fixture.owner(column)} = ${tenant.id} LIMIT 1`;
    expect(rows, table).toHaveLength(0);
  }
  expect((await tenant.linked.call('GET', '/v1/staff')).body.message).toBe('Invalid client credentials.');
  const [record] = await fixture.owner`SELECT subject FROM audit_records
    WHERE client_id = ${tenant.id} AND action = 'dashboard.clients.erase'`;
  expect(record?.subject).toBe(tenant.id);
});

async function findScope(tenant: Tenant): Promise<ErasureScope> {
  const scope = await findOrganizationScope(fixture.ctx, tenant.id, tenant.org_id);
  if (!scope) throw new Error('The practice does not exist.');
  return scope;
}
