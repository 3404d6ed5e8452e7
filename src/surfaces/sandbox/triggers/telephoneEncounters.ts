import { StartFailure } from '../../../catalog/errors.ts';
import type { Scene, TriggerRequests } from './scene.ts';

export const telephone_encounter_requests = {
  telephone_encounter: async (scene) => ({
    send: () => scene.client.telephoneEncounters.createAndWait(call(scene)),
  }),
  telephone_encounter_with_refill: async (scene) => {
    const refill_medication_name = await activeMedication(scene);
    return {
      send: () => scene.client.telephoneEncounters.createAndWait({ ...call(scene), refill_medication_name }),
    };
  },
  telephone_encounter_action: async (scene) => {
    const body = await action(scene);
    return { send: () => scene.client.telephoneEncounters.actions.createAndWait(body) };
  },
} satisfies TriggerRequests;

function call({ sandbox }: Scene) {
  const { patient_mrn, provider_id, location_id, assigned_to_id } = sandbox.example;
  const text = { reason: 'Triggered call', caller: 'Test caller', message: 'Sent by chartwire trigger' };
  return { patient_mrn, provider_id, location_id, assigned_to_id, ...text };
}

/** An action on a new telephone encounter, whose event is sent too. */
async function action(scene: Scene) {
  const { data } = await scene.client.telephoneEncounters.createAndWait(call(scene));
  return { emr_appointment_id: data.emr_encounter_id, text: 'Called back (chartwire trigger).' };
}

async function activeMedication({ client, sandbox }: Scene): Promise<string> {
  const { patient_mrn: mrn } = sandbox.example;
  const { data } = await client.patients.fetchAndWait({ search_by: 'mrn', mrn });
  const { medications = [] } = data as { medications?: { name: string }[] };
  const [medication] = medications;
  if (!medication) throw new StartFailure('The example patient has no medication. Run: chartwire sandbox reset');
  return medication.name;
}
