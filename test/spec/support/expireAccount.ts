import { apiAs } from '../../api/support.ts';
import type { Api } from '../../harness/api.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { until } from '../../journeys/support.ts';

export type ExpiredAccount = { access_token: string; user_id: string; staff: number; api: Api };

/** Links an account of the sandbox's organization and then lets the EMR expire the link. */
export async function expireAccount(fixture: TestSandbox, user_id: string, staff: number): Promise<ExpiredAccount> {
  const access_token = await fixture.api.link({ user_id, staff });
  const api = apiAs(fixture, { access_token });
  await fixture.api.control('POST', '/control/sessions/expire', { mode: 'link' });
  // The service notices at the account's next call to the EMR.
  const body = { search_by: 'mrn', mrn: fixture.sandbox.example.patient_mrn };
  const response = await api.call('POST', '/v1/patients/fetch', { body });
  if (response.status !== 200) throw new Error(JSON.stringify(response.body));
  await until('the link to expire', async () => (await api.call('GET', '/v1/providers')).status === 403);
  return { access_token, user_id, staff, api };
}
