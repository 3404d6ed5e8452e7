import type { Tx } from '../db/database.ts';
import { type EventOf, events, patientsOf } from '../events.ts';
import { newId } from '../ids.ts';
import { addDeliveries } from './deliveries.ts';
import { findSubscribed } from './endpoints.ts';
import { addEvent } from './events.ts';

/** An event with the account and the job it belongs to. */
export type EventOccurrence = {
  client_id: string;
  account_id: string;
  job_id: number | null;
  event: EventOf;
  /** The active span, for a link from the deliveries. */
  traceparent?: string | null;
};

/**
 * Stores an event and one delivery for each enabled endpoint subscribed to its type, in the caller's transaction, so
 * that state and event commit together. Returns the event's id. The caller notifies `chartwire_deliveries` after the
 * commit.
 */
export async function emitEvent(tx: Tx, occurrence: EventOccurrence): Promise<string> {
  const { client_id, account_id, job_id, event, traceparent = null } = occurrence;
  const origin = await findOrigin(tx, account_id);
  const endpoint_ids = await findSubscribed(tx, event.type);
  const id = newId();
  const body = envelope(id, origin, occurrence);
  await addEvent(tx, {
    ...{ id, client_id, account_id, job_id, body, type: event.type, created: origin.created },
    traceparent,
    mrns: patientsOf(event.data),
    delivery_status: endpoint_ids.length > 0 ? 'pending' : null,
  });
  await addDeliveries(tx, { client_id, event_id: id, endpoint_ids });
  return id;
}

type Origin = { reference_id: string; created: string };

/** The database's time in milliseconds, as on the wire, so that the row and the envelope have the same timestamp. */
async function findOrigin(tx: Tx, account_id: string): Promise<Origin> {
  const [origin] = await tx<Origin[]>`
    SELECT reference_id, iso(date_trunc('milliseconds', clock_timestamp())) AS created
      FROM accounts WHERE id = ${account_id}`;
  if (!origin) throw new Error('An event needs an account of the tenant.');
  return origin;
}

/** The body that is sent and signed. JSON.stringify omits undefined fields. */
function envelope(id: string, origin: Origin, { job_id, event }: EventOccurrence): string {
  const kind = events[event.type];
  return JSON.stringify({
    id,
    object: 'event',
    created: origin.created,
    type: event.type,
    job_id: kind.has_job_id && job_id !== null ? String(job_id) : undefined,
    access_token_reference_id: kind.has_account_reference ? origin.reference_id : undefined,
    data: event.data,
  });
}
