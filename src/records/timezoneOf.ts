import type { Tx } from '../db/database.ts';

/** The zone of the EMR instance of an organisation. */
export async function timezoneOf(tx: Tx, scope: { organisation_id: string }): Promise<string> {
  const [row] = await tx<{ timezone: string }[]>`
    SELECT timezone FROM organisations WHERE id = ${scope.organisation_id}`;
  if (!row) throw new Error('The organisation is gone.');
  return row.timezone;
}
