import { StartFailure } from '../../../catalog/errors.ts';
import type { Scene, TriggerRequests } from './scene.ts';

export const task_requests = {
  task: async (scene) => {
    const body = await task(scene);
    return { send: () => scene.client.tasks.createAndWait(body) };
  },
  task_note: async (scene) => {
    const { data } = await scene.client.tasks.createAndWait(await task(scene));
    const body = { emr_task_id: data.emr_task_id, note: 'Done (chartwire trigger).' };
    return { send: () => scene.client.tasks.notes.createAndWait(body) };
  },
} satisfies TriggerRequests;

async function task({ client, sandbox }: Scene) {
  const { phone_call_types } = (await client.settings.get()).data;
  const [call_type] = phone_call_types ?? [];
  if (!call_type) throw new StartFailure('The EMR has no types of phone calls. Run: chartwire sandbox reset');
  const { patient_mrn, assigned_to_id } = sandbox.example;
  return {
    ...{ patient_mrn, subject: 'Triggered task', description: 'Sent by chartwire trigger' },
    ...{ assignee_user_id: assigned_to_id, phone_call_type_id: call_type.id },
  };
}
