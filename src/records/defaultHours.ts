import type { Hours } from '../availability/question.ts';
import type { Database, Tx } from '../db/database.ts';
import type { DefaultHours } from '../model/dashboard/records.ts';
import type { HoursRequest } from '../model/providerSettings.ts';
import { weekdays } from '../model/weekdays.ts';
import { locationNames } from './locations.ts';
import type { Scope } from './page.ts';
import { readHours } from './readHours.ts';

/** What an organization's providers without hours work by unless it is set: Monday to Friday, nine to five. */
export const decided_hours: DefaultHours['hours'] & Hours = weekdays
  .slice(0, 5)
  .map((day) => ({ day, shifts: [{ start: 'T09:00:00', end: 'T17:00:00' }] }));

/** The default hours of an organization, and whether they were set. */
export async function readDefaultHours(db: Database, scope: Scope): Promise<DefaultHours> {
  const [row] = await db.read<{ hours: DefaultHours['hours'] | null }>(
    scope.client_id,
    (sql) => sql`SELECT default_hours AS hours FROM organizations WHERE id = ${scope.organization_id}`,
  );
  return { hours: row?.hours ?? decided_hours, set: row?.hours != null };
}

/** Null returns to what is decided for everyone. */
export async function setDefaultHours(tx: Tx, scope: Scope, hours: HoursRequest | null): Promise<void> {
  const kept = hours && readHours(hours, await locationNames(tx, { ...scope, run: 0 }));
  await tx`UPDATE organizations SET default_hours = ${kept && JSON.stringify(kept)}::text::json
            WHERE id = ${scope.organization_id}`;
}
