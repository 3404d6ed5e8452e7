import { billedVisit } from './appointments.ts';
import { randomLetters, type TriggerRequests } from './scene.ts';

export const billing_requests = {
  payment: async ({ client, sandbox }) => {
    const { patient_mrn, location_id: location } = sandbox.example;
    const payment = { patient_mrn, location, payment_method: 'Check', amount: 25, reference_number: randomLetters() };
    return { send: () => client.payments.createAndWait(payment) };
  },
  claim: async (scene) => {
    const appointment_id = await billedVisit(scene);
    return { send: () => scene.client.claims.createAndWait({ appointment_id }) };
  },
} satisfies TriggerRequests;
