import { createHmac } from 'node:crypto';
import type { Kind } from '../../model/records/kinds.ts';
import type { Tx } from '../../platform/db/database.ts';
import type { Context } from '../context.ts';
import type { Scope } from './readRecords.ts';

type PatientIds = { ehr_id?: string | null; mrn?: string | null };

/** Remembers an erased patient by keyed hashes of the MRN and the EMR's id, so that syncs skip it. */
export async function addErasedPatient(
  ctx: Pick<Context, 'system_keys'>,
  tx: Tx,
  { client_id, organization_id }: Scope,
  patient: PatientIds,
): Promise<void> {
  const hashes = hashesOf(ctx, organization_id, patient);
  await tx`INSERT INTO erased_patients (organization_id, patient_hash, client_id)
    SELECT ${organization_id}, hash, ${client_id} FROM unnest(${hashes}::bytea[]) AS hash ON CONFLICT DO NOTHING`;
}

/**
 * Tells which rows of a kind are about erased patients. The organization is locked first: an erasure waits for the pages
 * that are being stored, and later pages see its result. The MRN of a patient may have changed since the erasure, and
 * other records name patients by MRN only: the `page` of patients shows the new one, which is remembered too.
 */
export async function findErased(
  ctx: Pick<Context, 'system_keys'>,
  tx: Tx,
  kind: Kind,
  scope: Scope,
  page: readonly PatientIds[] = [],
): Promise<(row: Record<string, unknown>) => boolean> {
  const { mrn_column } = kind;
  const { organization_id } = scope;
  if (mrn_column === undefined) return () => false;
  await tx`SELECT FROM organizations WHERE id = ${organization_id} FOR KEY SHARE`;
  const erased = await tx<{ patient_hash: Buffer }[]>`
    SELECT patient_hash FROM erased_patients WHERE organization_id = ${organization_id}`;
  if (erased.length === 0) return () => false;
  const hashes = new Set(erased.map(({ patient_hash }) => patient_hash.toString('hex')));
  const isKnown = (ids: PatientIds) =>
    hashesOf(ctx, organization_id, ids).some((hash) => hashes.has(hash.toString('hex')));
  for (const { ehr_id = null, mrn = null } of kind.name === 'patients' ? page : []) {
    if (!isKnown({ ehr_id }) || isKnown({ mrn })) continue;
    await addErasedPatient(ctx, tx, scope, { mrn });
    for (const hash of hashesOf(ctx, organization_id, { mrn })) hashes.add(hash.toString('hex'));
  }
  return (row) => {
    const [mrn, ehr_id] = [row[mrn_column], kind.name === 'patients' ? row.ehr_id : null];
    return isKnown({ mrn: typeof mrn === 'string' ? mrn : null, ehr_id: typeof ehr_id === 'string' ? ehr_id : null });
  };
}

function hashesOf({ system_keys }: Pick<Context, 'system_keys'>, organization_id: string, ids: PatientIds): Buffer[] {
  return (['mrn', 'ehr_id'] as const).flatMap((name) => {
    const value = ids[name];
    if (!value) return [];
    return [createHmac('sha256', system_keys.key('erasure')).update(`${organization_id}|${name}|${value}`).digest()];
  });
}
