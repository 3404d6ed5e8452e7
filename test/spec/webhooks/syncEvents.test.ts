import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { addErasedPatient } from '../../../src/product/records/storeRecords.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { signInToLarkspur } from '../../journeys/support.ts';
import { complete, completeUpload } from '../support/completedJobs.ts';
import { addClinicRow, changeClinicRow, clinicRows } from '../support/emrRecords.ts';
import { registerUrl, removeWebhook } from './receivers.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
});
afterAll(() => fixture.close());

/** The practice that the service knows. */
async function practice(): Promise<{ client_id: string; organization_id: string }> {
  const [row] = await fixture.owner<{ client_id: string; organization_id: string }[]>`
    SELECT client_id, id AS organization_id FROM organizations LIMIT 1`;
  if (!row) throw new Error('There is no organization.');
  return row;
}

type SyncEvent = { id: string; type: string; created: string; job_id?: string; data: Record<string, unknown> };

/** An endpoint with sync events until the test finishes. It is paused, so that nothing is sent. */
async function listen(fields: Record<string, unknown> = {}): Promise<string> {
  const { id } = await registerUrl(fixture.api, `http://127.0.0.1:9/${crypto.randomUUID()}`);
  onTestFinished(async () => void (await removeWebhook(fixture.api, id)));
  const body = { paused: true, sync_events: true, ...fields };
  const response = await fixture.api.call('PATCH', `/v1/webhook/${id}`, { body, headers: { access_token: null } });
  expect(response.status).toBe(200);
  return id;
}

const sync = () => complete(fixture, '/v1/sync', {});

/** The events that a sync announces after this change in the EMR, oldest first. */
async function announced(change: () => Promise<unknown>): Promise<SyncEvent[]> {
  await sync();
  const before = new Set((await stored()).map(({ id }) => id));
  await change();
  await sync();
  return (await stored()).filter(({ id }) => !before.has(id));
}

async function stored(): Promise<SyncEvent[]> {
  const rows = await fixture.owner<{ body: string }[]>`
    SELECT body FROM events WHERE from_sync ORDER BY created_at, id`;
  return rows.map(({ body }) => JSON.parse(body));
}

async function clinicPatient(): Promise<Record<string, string>> {
  const person = { firstName: 'Sync', lastName: `Testpatient-${crypto.randomUUID()}`, birthDate: '02/29/1980' };
  return addClinicRow(fixture, 'patients', person);
}

async function patientId(mrn: unknown): Promise<string> {
  return (await fixture.api.call('GET', `/v1/patients?mrn=${mrn}`)).body.patients[0].id;
}

async function merge(duplicate: Record<string, string>, surviving: Record<string, string>): Promise<void> {
  const path = `/control/patients/${duplicate.patientId}/merge`;
  const response = await fixture.api.control('POST', path, { intoPatientId: surviving.patientId });
  expect(response.status, JSON.stringify(response.body)).toBe(200);
}

async function addDocument(patient: Record<string, string>, folderPath = 'Scans'): Promise<void> {
  const document = { folderPath, fileName: 'letter.pdf', text: '%PDF-1.4\n%%EOF\n' };
  const response = await fixture.api.control('POST', `/control/patients/${patient.patientId}/documents`, document);
  expect(response.status, JSON.stringify(response.body)).toBe(201);
}

test(row('SYE-01'), async () => {
  const patient = await clinicPatient();
  const change = () => changeClinicRow(fixture, 'patients', String(patient.patientId), { homePhone: '555-010-0001' });
  expect(await announced(change)).toStrictEqual([]);
  await listen({ sync_events: false });
  const again = () => changeClinicRow(fixture, 'patients', String(patient.patientId), { homePhone: '555-010-0002' });
  expect(await announced(again)).toStrictEqual([]);
});

test(row('SYE-02'), async () => {
  await listen();
  let patient: Record<string, string> = {};
  const created = await announced(async () => {
    patient = await clinicPatient();
  });
  expect(created).toStrictEqual([
    {
      ...{ id: expect.any(String), object: 'event', created: expect.any(String), type: 'patient.created' },
      access_token_reference_id: expect.any(String),
      data: { source: 'emr', patient_id: expect.any(String), mrn: patient.mrn, ehr_id: patient.patientId },
    },
  ]);
  const updated = await announced(() =>
    changeClinicRow(fixture, 'patients', String(patient.patientId), { homePhone: '555-010-0003', email: 'a@b.test' }),
  );
  expect(updated).toMatchObject([
    { type: 'patient.updated', data: { source: 'emr', mrn: patient.mrn, changed_fields: ['phone', 'email'] } },
  ]);
  expect(await announced(async () => {})).toStrictEqual([]);
});

test(row('SYE-03'), async () => {
  await listen();
  const [example] = await clinicRows(fixture, 'appointments');
  const { patientId, providerId, facilityId } = example;
  const [year, month, date] = new Date(Date.now() + 20 * 86_400_000).toISOString().slice(0, 10).split('-');
  let id = '';
  const types = async (change: () => Promise<unknown>) => (await announced(change)).map(({ type }) => type);
  const book = async () => {
    const startsAt = `${month}/${date}/${year} 06:10`;
    id = String(
      (await addClinicRow(fixture, 'appointments', { patientId, providerId, facilityId, startsAt })).appointmentId,
    );
  };
  expect(await types(book)).toStrictEqual(['appointment.created']);
  const edit = (values: object) => () => changeClinicRow(fixture, 'appointments', id, values);
  expect(await types(edit({ reason: 'Cough' }))).toStrictEqual(['appointment.updated']);
  expect(await types(edit({ statusCode: 'CHK', reason: 'Fever' }))).toStrictEqual(['appointment.status_updated']);
  expect(await types(edit({ statusCode: 'CAN' }))).toStrictEqual(['appointment.cancelled']);
});

test(row('SYE-04'), async () => {
  await listen();
  const [claim] = await clinicRows(fixture, 'claims');
  const [order] = await clinicRows(fixture, 'orders');
  const labResults = {
    ...{ status: 'Corrected', collectedOn: '11/02/2026', resultedOn: '11/03/2026', laboratory: 'Example Lab' },
    results: [{ test: 'Glucose', value: '91', unit: 'mg/dL', range: '70-99', abnormalFlag: 'N' }],
  };
  const events = await announced(async () => {
    await changeClinicRow(fixture, 'claims', String(claim.claimId), { billingNotes: 'Appealed' });
    await changeClinicRow(fixture, 'orders', String(order.orderId), { labResults });
  });
  expect(events.toSorted((a, b) => (a.type < b.type ? -1 : 1))).toMatchObject([
    { type: 'claim.updated', data: { emr_claim_id: String(claim.claimId), changed_fields: ['billing_notes'] } },
    { type: 'order.resulted', data: { order_id: String(order.orderId) } },
  ]);
});

test(row('SYE-05'), async () => {
  await listen();
  const { patient_mrn: mrn, provider_id, location_id } = fixture.sandbox.example;
  const starts = `${new Date(Date.now() + 25 * 86_400_000).toISOString().slice(0, 10)}T15:10:00Z`;
  const events = await announced(async () => {
    const person = { first_name: 'Own', last_name: 'Write', dob: '2001-02-03', sex: 'female', phone: '555-010-0009' };
    await complete(fixture, '/v1/patients', person);
    const booking = { mrn, location: location_id, provider: provider_id, type: 'FU', datetime: starts };
    await complete(fixture, '/v1/appointments', booking);
    const { body } = await fixture.api.call('GET', `/v1/patients?mrn=${mrn}`);
    const update = { body: { email: `own-${Date.now()}@example.test` } };
    const { job_id } = (await fixture.api.call('PATCH', `/v1/patients/${body.patients[0].id}`, update)).body;
    await fixture.api.untilEvent(job_id);
  });
  expect(events).toStrictEqual([]);
});

test(row('SYE-06'), async () => {
  await listen();
  const [known, added] = [await clinicPatient(), { restored: await clinicPatient() }];
  const rename = (email: string) => changeClinicRow(fixture, 'patients', String(known.patientId), { email });
  const first = await announced(async () => {
    await rename('first@example.test');
    // As after linking: the list of patients was never read to its end.
    await fixture.owner`UPDATE sync_passes SET first_read_at = NULL WHERE kind = 'patients'`;
  });
  expect(first).toStrictEqual([]);
  const after_restore = await announced(async () => {
    await rename('second@example.test');
    await changeClinicRow(fixture, 'patients', String(added.restored.patientId), { email: 'other@example.test' });
    await fixture.owner`INSERT INTO restores (backup_at, unfinished_jobs, last_job_id, last_step)
      VALUES (now() - interval '1 hour', 0, 0, 0)`;
  });
  expect(after_restore).toStrictEqual([]);
  const later = await announced(() => rename('third@example.test'));
  expect(later.map(({ type, data }) => [type, data.mrn])).toStrictEqual([['patient.updated', known.mrn]]);
});

test(row('SYE-07'), async () => {
  await listen();
  const patient = await clinicPatient();
  const events = await announced(async () => {
    await changeClinicRow(fixture, 'patients', String(patient.patientId), { email: 'once@example.test' });
    // The sync breaks off after it has stored the patients, and runs again.
    const fault = { operation: 'list_claims', kind: 'error_500', times: 3, reason: 'Broken off' };
    expect((await fixture.api.control('POST', '/control/faults', fault)).status).toBeLessThan(300);
  });
  expect(events.map(({ type, data }) => [type, data.mrn])).toStrictEqual([['patient.updated', patient.mrn]]);
  const [job] = await fixture.owner<{ attempts: number }[]>`
    SELECT attempts FROM jobs WHERE type = 'sync' ORDER BY id DESC LIMIT 1`;
  expect(job?.attempts).toBeGreaterThan(1);
});

test(row('SYE-08'), async () => {
  const narrow = await listen({ event_types: ['patient.updated'] });
  const foreign = await listen({ org_ids: ['another-practice'] });
  const without = await listen({ sync_events: false, event_types: ['patient.created', 'patient.updated'] });
  let mrn: unknown;
  const events = await announced(async () => {
    mrn = (await clinicPatient()).mrn;
    const [other] = await clinicRows(fixture, 'patients');
    await changeClinicRow(fixture, 'patients', String(other.patientId), { email: `n${Date.now()}@example.test` });
  });
  expect(mrn).toBeTypeOf('string');
  expect(events.map(({ type }) => type)).toStrictEqual(['patient.updated']);
  const deliveries = async (id: string) =>
    (await fixture.api.call('GET', `/v1/webhook/${id}/deliveries`, { headers: { access_token: null } })).body
      .deliveries;
  expect((await deliveries(narrow)).map((each: { event_id: string }) => each.event_id)).toStrictEqual([events[0]?.id]);
  expect(await deliveries(foreign)).toStrictEqual([]);
  expect(await deliveries(without)).toStrictEqual([]);
});

test(row('SYE-09'), async () => {
  await listen();
  const events = await announced(async () => {
    const people = [await clinicPatient(), await clinicPatient(), await clinicPatient()];
    const [example] = await clinicRows(fixture, 'appointments');
    for (const { patientId } of people) {
      const { providerId, facilityId } = example;
      const startsAt = `${String(new Date().getUTCMonth() + 1).padStart(2, '0')}/28/${new Date().getUTCFullYear()} 06:40`;
      await addClinicRow(fixture, 'appointments', { patientId, providerId, facilityId, startsAt });
    }
  });
  const by_patient = new Map<unknown, SyncEvent[]>();
  for (const event of events) by_patient.set(event.data.mrn, [...(by_patient.get(event.data.mrn) ?? []), event]);
  expect([...by_patient.values()].map((each) => each.map(({ type }) => type))).toStrictEqual(
    Array(3).fill(['patient.created', 'appointment.created']),
  );
  const times = events.map(({ created }) => created);
  expect(new Set(times).size).toBe(times.length);
  expect(times).toStrictEqual(times.toSorted());
});

test(row('SYE-10'), async () => {
  await listen();
  const [duplicate, surviving] = [await clinicPatient(), await clinicPatient()];
  const ids = new Map<string, string>();
  const events = await announced(async () => {
    for (const { mrn } of [duplicate, surviving]) ids.set(String(mrn), await patientId(mrn));
    await merge(duplicate, surviving);
  });
  expect(events).toStrictEqual([
    {
      ...{ id: expect.any(String), object: 'event', created: expect.any(String), type: 'patient.merged' },
      access_token_reference_id: expect.any(String),
      data: {
        ...{
          source: 'emr',
          patient_id: ids.get(String(duplicate.mrn)),
          mrn: duplicate.mrn,
          ehr_id: duplicate.patientId,
        },
        surviving_patient_id: ids.get(String(surviving.mrn)),
        surviving_mrn: surviving.mrn,
        surviving_ehr_id: surviving.patientId,
      },
    },
  ]);
  const [stored_event] = await fixture.owner<{ mrns: string[] }[]>`
    SELECT mrns FROM events WHERE id = ${events[0]?.id ?? ''}`;
  expect(stored_event?.mrns.toSorted()).toStrictEqual([duplicate.mrn, surviving.mrn].toSorted());
  expect(await announced(async () => {})).toStrictEqual([]);
  expect((await fixture.api.call('GET', `/v1/patients?mrn=${duplicate.mrn}`)).body.patients).toStrictEqual([]);
  await completeUpload(fixture, { patient_mrn: String(duplicate.mrn), folder_name: 'Merged' });
  const charts = await signInToLarkspur(fixture.sandbox, fixture.api);
  expect(await charts.list(String(surviving.patientId), 'documents')).toMatchObject([{ folderPath: 'Merged' }]);
});

test(row('SYE-11'), async () => {
  await listen();
  const patient = await clinicPatient();
  const own = await announced(() => completeUpload(fixture, { patient_mrn: String(patient.mrn), folder_name: 'Own' }));
  expect(own).toStrictEqual([]);
  const events = await announced(() => addDocument(patient, 'Scans/Letters'));
  expect(events).toStrictEqual([
    {
      ...{ id: expect.any(String), object: 'event', created: expect.any(String), type: 'document.added' },
      access_token_reference_id: expect.any(String),
      data: {
        ...{
          source: 'emr',
          emr_document_id: expect.any(String),
          patient_mrn: patient.mrn,
          folder_name: 'Scans/Letters',
        },
        ...{ file_name: 'letter.pdf', content_type: 'application/pdf', added_at: expect.any(String) },
      },
    },
  ]);
  expect(await announced(async () => {})).toStrictEqual([]);
});

test(row('SYE-12'), async () => {
  const patient = await clinicPatient();
  const passes = () => fixture.owner`SELECT FROM document_passes`;
  expect(await announced(() => addDocument(patient))).toStrictEqual([]);
  expect(await passes()).toHaveLength(0);
  await listen();
  // What was added before the first sync with an endpoint is not new.
  await addDocument(patient);
  expect(await announced(async () => {})).toStrictEqual([]);
  expect(await passes()).toHaveLength(1);
  const after_restore = await announced(async () => {
    await addDocument(patient);
    await fixture.owner`INSERT INTO restores (backup_at, unfinished_jobs, last_job_id, last_step)
      VALUES (now() - interval '1 hour', 0, 0, 0)`;
  });
  expect(after_restore).toStrictEqual([]);
  const later = await announced(async () => {
    await addDocument(patient, 'Later');
    await addDocument(patient, 'Later');
  });
  expect(later.map(({ type, data }) => [type, data.folder_name])).toStrictEqual([
    ['document.added', 'Later'],
    ['document.added', 'Later'],
  ]);
});

test('a chart that two merges moved on is announced with the chart that remains', async () => {
  await listen();
  const [first, second, third] = [await clinicPatient(), await clinicPatient(), await clinicPatient()];
  const events = await announced(async () => {
    await merge(first, second);
    await merge(second, third);
  });
  expect(events.map(({ type, data }) => [type, data.mrn, data.surviving_mrn])).toStrictEqual(
    [first, second].map(({ mrn }) => ['patient.merged', mrn, third.mrn]),
  );
});

test('the merge of a chart into that of an erased patient does not name the erased one', async () => {
  await listen();
  const [duplicate, erased] = [await clinicPatient(), await clinicPatient()];
  const events = await announced(async () => {
    const scope = await practice();
    await fixture.ctx.db.tenant(scope.client_id, (tx) =>
      addErasedPatient(fixture.ctx, tx, scope, { ehr_id: String(erased.patientId), mrn: String(erased.mrn) }),
    );
    await fixture.owner`DELETE FROM patients WHERE ehr_id = ${String(erased.patientId)}`;
    await merge(duplicate, erased);
    await addDocument(erased);
  });
  expect(events.map(({ type, data }) => [type, data.surviving_ehr_id, data.surviving_mrn])).toStrictEqual([
    ['patient.merged', null, null],
  ]);
});
