import { beforeAll, expect, test } from 'vitest';
import { supportsField } from '../../../../src/emr/connector.ts';
import { fhir as fhir_connector } from '../../../../src/emr/fhir/fhir.ts';
import { expectApiError } from '../../../api/support.ts';
import type { Api } from '../../../harness/api.ts';
import { fhirAccount } from '../../../harness/fhirAccount.ts';
import type { TestSandbox } from '../../../harness/sandbox.ts';
import { sharedSandbox } from '../../../harness/sharedSandbox.ts';
import { countAcceptedWork } from '../../support/databaseState.ts';
import { sendDocument } from '../../support/sendDocument.ts';

let fixture: TestSandbox;
/** An account of an EMR that lacks some fields. */
let fhir: Api & { access_token: string };
let mrn: string;
beforeAll(async () => {
  fixture = await sharedSandbox();
  ({ api: fhir, mrn } = await fhirAccount(fixture));
});

const newPerson = (more: object) => ({
  ...{ first_name: 'Nova', last_name: 'Unsupported', dob: '1990-01-31', sex: 'female' },
  ...more,
});
const upload = (fields: Record<string, string>) =>
  sendDocument({ sandbox: { ...fixture.sandbox, access_token: fhir.access_token } }, { patient_mrn: mrn, ...fields });

test('a field of a new patient that the EMR cannot store is rejected by name, and nothing is queued', async () => {
  const before = await countAcceptedWork(fixture);
  for (const [field, more] of Object.entries({
    referring_provider_first_name: { referring_provider_last_name: 'Doctor' },
    referred_to_provider_id: {},
    no_email_reason: {},
  })) {
    const response = await fhir.call('POST', '/v1/patients', { body: newPerson({ [field]: 'x', ...more }) });
    expectApiError(response, 400, `Field '${field}' is not supported by this EMR.`, field);
  }
  const eligibility = await fhir.call('POST', '/v1/patients', { body: newPerson({ check_eligibility: 'true' }) });
  expectApiError(eligibility, 400, "Field 'check_eligibility' is not supported by this EMR.", 'check_eligibility');
  expect(await countAcceptedWork(fixture)).toStrictEqual(before);
});

test('a value that asks for nothing is accepted, even if the EMR does not have the field', async () => {
  const body = newPerson({ last_name: 'Plain', check_eligibility: 'false', responsible_party: 'self' });
  const created = await fhir.call('POST', '/v1/patients', { body });
  expect(created.status, JSON.stringify(created.body)).toBe(200);
  expect((await fhir.untilEvent(created.body.job_id)).event_type).toBe('patient.created');
});

test('a field of a document that the EMR cannot store is rejected by name', async () => {
  const response = await upload({ template_name: 'Referral' });
  expectApiError(response, 400, "Field 'template_name' is not supported by this EMR.", 'template_name');
});

test('the settings list the fields that only some servers can store', async () => {
  const { capabilities } = (await fhir.call('GET', '/v1/settings')).body.data;
  expect(capabilities).toContain('uploadDocument.is_high_priority');
  // This server does not offer appointments.
  expect(capabilities).not.toContain('createAppointment.prevent_double_booking');
  const takes = (field: string) => supportsField(fhir_connector, capabilities, 'createAppointment', field);
  expect([takes('prevent_double_booking'), takes('new_patient'), takes('reason')]).toStrictEqual([false, false, true]);
});
