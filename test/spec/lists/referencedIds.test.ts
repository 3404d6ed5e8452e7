import { beforeAll, expect, test } from 'vitest';
import { expectApiError } from '../../api/support.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { patient } from '../../journeys/support.ts';
import { clinicRows, type Row } from '../support/emrRecords.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
});

const post = (path: string, body: object) => fixture.api.call('POST', path, { body });
const unknown = '0'.repeat(32);

/** Waits for the event of an accepted write and returns its data. */
async function complete(accepted: Awaited<ReturnType<typeof post>>, event_type: string): Promise<Row> {
  expect(accepted.status, JSON.stringify(accepted.body)).toBe(200);
  const event = await fixture.api.untilEvent(accepted.body.job_id);
  expect(event).toMatchObject({ event_type });
  return event.data;
}

let named = 0;
/** Fields of a person who has no chart yet. */
function newPerson(fields: object): object {
  named += 1;
  return { first_name: 'Nova', last_name: `Referenced${named}`, dob: '2004-02-29', sex: 'female', ...fields };
}

test(row('REF-03'), async () => {
  const { status, body } = await fixture.api.call('GET', '/v1/insurance-providers?active=true');
  expect(status).toBe(200);
  const companies: Row[] = body.insurance_providers.slice(0, 4);
  expect(companies).toHaveLength(4);
  for (const [n, { id, ehr_id }] of companies.entries()) {
    const fields = { member_id: `M-${n}`, insurance_provider_id: id };
    const accepted = await post(`/v1/patients/${patient(20 + n).mrn}/insurances`, fields);
    const { emr_insurance_id } = await complete(accepted, 'patient.insurance.added');
    const [added] = await clinicRows(fixture, 'patient-insurances', { insuranceId: emr_insurance_id });
    expect(added).toMatchObject({ companyId: ehr_id, subscriberNumber: `M-${n}` });
    const person = newPerson({ insurance_provider_id: id, insurance_subscriber_number: `S-${n}` });
    const { mrn } = await complete(await post('/v1/patients', person), 'patient.created');
    const [{ patientId }] = (await clinicRows(fixture, 'patients', { mrn })) as [Row];
    expect(await clinicRows(fixture, 'patient-insurances', { patientId })).toMatchObject([{ companyId: ehr_id }]);
  }
  for (const insurance_provider_id of [companies[0].ehr_id, unknown]) {
    const path = `/v1/patients/${patient(20).mrn}/insurances`;
    const response = await post(path, { member_id: 'M', insurance_provider_id });
    expectApiError(response, 404, /not found/, 'insurance_provider_id');
  }
});

test(row('REF-04'), async () => {
  const { status, body } = await fixture.api.call('GET', '/v1/referring-providers');
  expect(status).toBe(200);
  const active = await clinicRows(fixture, 'referring-providers', { activeFlag: 'Y' });
  const known = new Set(active.map(({ referringId }) => referringId));
  const doctors: Row[] = body.referring_providers.filter(({ ehr_id }: Row) => known.has(ehr_id)).slice(0, 3);
  expect(doctors).toHaveLength(3);
  for (const [n, doctor] of doctors.entries()) {
    const other = doctors[(n + 1) % doctors.length];
    const ids = { referring_provider_id: doctor.id, pcp_id: other.id };
    const accepted = await post('/v1/patients', newPerson(ids));
    const { mrn } = await complete(accepted, 'patient.created');
    const chart = async () => (await clinicRows(fixture, 'patients', { mrn }))[0];
    expect(await chart()).toMatchObject({ referringId: doctor.ehr_id, pcpId: other.ehr_id });
    const turned = { referring_provider_id: other.id, pcp_id: doctor.id };
    const path = `/v1/patients/${accepted.body.patient_id}`;
    const changed = await fixture.api.call('PATCH', path, { body: turned });
    await complete(changed, 'patient.updated');
    expect(await chart()).toMatchObject({ referringId: other.ehr_id, pcpId: doctor.ehr_id });
  }
  for (const field of ['referring_provider_id', 'pcp_id']) {
    expectApiError(await post('/v1/patients', newPerson({ [field]: unknown })), 404, /not found/, field);
  }
});
