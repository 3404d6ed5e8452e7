import { apiOf } from '../../api/support.ts';
import type { Api } from '../../harness/api.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { until } from '../../journeys/journey.ts';

export type ExpiredAccount = { access_token: string; user_id: string; staff: number; api: Api };

/** An account of the sandbox's organization that is linked, and whose link the EMR then ends for good. */
export async function expireAccount(world: TestSandbox, user_id: string, staff: number): Promise<ExpiredAccount> {
  const access_token = await world.api.link({ user_id, staff });
  const api = apiOf(world, { access_token });
  await world.api.control('POST', '/control/sessions/expire', { mode: 'link' });
  // Found out by the first that speaks to the EMR in its name.
  const body = { search_by: 'mrn', mrn: world.sandbox.example.patient_mrn };
  const answer = await api.call('POST', '/v1/patients/fetch', { body });
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  await until('the link to expire', async () => (await api.call('GET', '/v1/providers')).status === 403);
  return { access_token, user_id, staff, api };
}
