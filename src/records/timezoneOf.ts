import type { Tx } from '../db/database.ts';

/** The zone of the EMR instance of an organization. */
export async function timezoneOf(tx: Tx, scope: { organization_id: string }): Promise<string> {
  const [row] = await tx<{ timezone: string }[]>`
    SELECT timezone FROM organizations WHERE id = ${scope.organization_id}`;
  if (!row) throw new Error('The organization is gone.');
  return row.timezone;
}
