import { randomInt } from 'node:crypto';
import { StartFailure } from '../../../catalog/errors.ts';
import { examplePatient, patientInEmr, randomLetters, type Scene, type TriggerRequests } from './scene.ts';

export const patient_requests = {
  patient: async ({ client }) => ({ send: () => client.patients.createAndWait(newPatient()) }),
  duplicate_patient: async (scene) => {
    const { first_name, last_name, dob, sex } = await examplePatient(scene);
    const duplicate = { first_name, last_name, dob: dob ?? '', sex: sex as 'male' | 'female' | 'unknown' };
    return { send: () => scene.client.patients.createAndWait(duplicate) };
  },
  patient_update: async (scene) => {
    const { id } = await examplePatient(scene);
    return { send: () => scene.client.patients.updateAndWait(id, { email: `${randomLetters()}@example.test` }) };
  },
  insurance: async (scene) => {
    const { mrn } = await patientInEmr(scene);
    const body = await insurance(scene);
    return { send: () => scene.client.patients.insurances.createAndWait(mrn, body) };
  },
  insurance_update: async (scene) => {
    const { patientId, mrn } = await patientInEmr(scene);
    const { insuranceId } = await scene.control<{ insuranceId: string }>('POST', '/control/patient-insurances', {
      ...{ patientId, companyName: 'Mock Mutual', subscriberNumber: `T${randomInt(1e6, 1e7)}` },
    });
    const member_id = `T${randomInt(1e6, 1e7)}`;
    return { send: () => scene.client.patients.insurances.updateAndWait(mrn, insuranceId, { member_id }) };
  },
  live_fetch: async ({ client, sandbox }) => {
    const search = { search_by: 'mrn', mrn: sandbox.example.patient_mrn } as const;
    return {
      send: () => client.patients.fetchAndWait(search),
      meanwhile: { start: (other) => other.patients.fetch(search) },
    };
  },
} satisfies TriggerRequests;

function newPatient() {
  return {
    first_name: 'Trigger',
    last_name: `Testpatient-${randomLetters()}`,
    dob: '1980-02-29',
    sex: 'unknown' as const,
    phone: '315-555-0142',
  };
}

async function insurance({ client }: Scene) {
  for await (const { id, payer_id } of client.insuranceProviders.list()) {
    if (payer_id) return { member_id: `T${randomInt(1e6, 1e7)}`, insurance_provider_id: id };
  }
  throw new StartFailure('The EMR has no insurance company. Run: chartwire sandbox reset');
}
