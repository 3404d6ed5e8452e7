import type { Api } from '../../harness/api.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';

/** The id of a cached appointment of the account's practice: a shared sandbox also has those of other practices. */
export async function findAppointmentId({ owner }: TestSandbox, api: Api): Promise<string | undefined> {
  const reference = (await api.call('GET', '/v1/settings')).body.data.access_token_reference_id;
  const [row] = await owner<{ id: string }[]>`
    SELECT appointments.id FROM appointments JOIN accounts USING (organization_id)
     WHERE reference_id = ${reference} LIMIT 1`;
  return row?.id;
}
