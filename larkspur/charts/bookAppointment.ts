import type { Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';
import { FREE_STATUSES } from '../practice/visitStatuses.ts';

export interface Slot {
  providerIds: string[];
  startsAt: string;
  minutes: number;
}

/** From here on nobody else books these providers until this transaction ends; in one order, so that none deadlock. */
export async function lockProviders(sql: Query, providerIds: string[]): Promise<void> {
  await sql`select 1 from providers where provider_id = any(${providerIds}) order by provider_id for update`;
}

/** Refuses a time that one of the providers has given to somebody else, or has blocked. */
export async function refuseDoubleBooking(sql: Query, slot: Slot): Promise<void> {
  const [appointment] = await sql<{ appointmentId: string; startsAt: string; minutes: number }[]>`
    select appointment_id, starts_at, minutes from appointments
    where (provider_id = any(${slot.providerIds}) or secondary_provider_id = any(${slot.providerIds}))
      and not status_code = any(${FREE_STATUSES}) and ${overlaps(sql, slot)}
    order by starts_at, length(appointment_id), appointment_id limit 1`;
  if (appointment) {
    const { appointmentId, startsAt, minutes } = appointment;
    throw conflict('APPOINTMENT', `Appointment ${appointmentId} at ${startsAt} for ${minutes} minutes.`);
  }
  const [block] = await sql<{ reason: string; startsAt: string; minutes: number }[]>`
    select reason, starts_at, minutes from blocks
    where provider_id = any(${slot.providerIds}) and ${overlaps(sql, slot)} order by starts_at, block_id limit 1`;
  if (block) throw conflict('BLOCK', `${block.reason} at ${block.startsAt} for ${block.minutes} minutes.`);
}

/** What ends when the other begins does not overlap it. */
function overlaps(sql: Query, { startsAt, minutes }: Slot) {
  return sql`
    starts_at < ${startsAt}::timestamp + make_interval(mins => ${minutes}::int)
    and starts_at + make_interval(mins => minutes) > ${startsAt}::timestamp`;
}

function conflict(conflictType: 'APPOINTMENT' | 'BLOCK', conflictDetails: string): EmrError {
  return new EmrError('CONFLICT', `The provider is not free. ${conflictDetails}`, { conflictType, conflictDetails });
}
