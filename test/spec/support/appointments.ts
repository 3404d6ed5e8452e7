import type { Api } from '../../harness/api.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';

/**
 * The id of a cached appointment of the account's practice, without a claim: a shared sandbox also has those of other
 * practices.
 */
export async function findAppointmentId({ owner }: TestSandbox, api: Api): Promise<string | undefined> {
  const reference = (await api.call('GET', '/v1/settings')).body.data.access_token_reference_id;
  const [row] = await owner<{ id: string }[]>`
    SELECT appointments.id FROM appointments JOIN accounts USING (organization_id)
     WHERE reference_id = ${reference} AND appointments.ehr_id IS NOT NULL
       AND NOT EXISTS (SELECT FROM claims WHERE claims.organization_id = appointments.organization_id
         AND claims.doc ->> 'emr_appointment_id' = appointments.ehr_id) LIMIT 1`;
  return row?.id;
}
