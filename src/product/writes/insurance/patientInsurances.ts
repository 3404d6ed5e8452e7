import { newId } from '../../../catalog/ids.ts';
import type { Tx } from '../../../platform/db/database.ts';

type Scope = { client_id: string; organization_id: string };

/** Our id of an insurance record in the EMR: that of the request that added it, or the one given at its first update. */
export async function insuranceId(tx: Tx, scope: Scope, emr_insurance_id: string): Promise<string> {
  // The update has no effect; without it, an existing row would not be returned.
  const [row] = await tx<{ id: string }[]>`
    INSERT INTO patient_insurances (id, client_id, organization_id, emr_insurance_id)
      VALUES (${newId()}, ${scope.client_id}, ${scope.organization_id}, ${emr_insurance_id})
    ON CONFLICT (organization_id, emr_insurance_id) DO UPDATE SET emr_insurance_id = excluded.emr_insurance_id
    RETURNING replace(id::text, '-', '') AS id`;
  if (!row) throw new Error('An upsert returned no row.');
  return row.id;
}

/** Stores the id under which a client knows an insurance that it has added. */
export async function storeInsuranceId(tx: Tx, scope: Scope, id: string, emr_insurance_id: string): Promise<void> {
  await tx`INSERT INTO patient_insurances (id, client_id, organization_id, emr_insurance_id)
      VALUES (${id}, ${scope.client_id}, ${scope.organization_id}, ${emr_insurance_id})
    ON CONFLICT DO NOTHING`;
}
