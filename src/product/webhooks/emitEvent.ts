import { newId } from '../../catalog/ids.ts';
import { type EventOf, events, patientsOf } from '../../model/events.ts';
import type { Tx } from '../../platform/db/database.ts';
import { addDeliveries } from './deliveries.ts';
import { findSubscribed } from './endpoints.ts';
import { addEvents, type NewEvent } from './events.ts';

/** An event with the account and the job it belongs to. */
export type EventOccurrence = {
  client_id: string;
  account_id: string;
  job_id: number | null;
  event: EventOf;
  /** The active span, for a link from the deliveries. */
  traceparent?: string | null;
};

/** Stores an event; see `emitEvents`. Returns its id. */
export async function emitEvent(tx: Tx, occurrence: EventOccurrence): Promise<string> {
  const [id] = await emitEvents(tx, [occurrence]);
  if (id === undefined) throw new Error('The event was not stored.');
  return id;
}

/**
 * Stores events, and one delivery of each for every enabled endpoint subscribed to its type, in the caller's transaction,
 * so that state and event commit together. Returns the events' ids. The caller notifies `chartwire_deliveries` after the
 * commit.
 */
export async function emitEvents(tx: Tx, occurrences: readonly EventOccurrence[]): Promise<string[]> {
  const prepared = await prepareEvents(tx, occurrences);
  await storeEvents(tx, prepared);
  return prepared.map(({ event }) => event.id);
}

/** An event, ready to be stored, and the endpoints that get it. */
export type PreparedEvent = { event: NewEvent; endpoint_ids: string[] };

/** The first half of `emitEvents`, which stores nothing. */
export async function prepareEvents(tx: Tx, occurrences: readonly EventOccurrence[]): Promise<PreparedEvent[]> {
  if (occurrences.length === 0) return [];
  const accounts = new Set(occurrences.map(({ account_id }) => account_id));
  const types = new Set(occurrences.map(({ event }) => event.type));
  const [originOf, endpointsOf] = await Promise.all([findOrigins(tx, [...accounts]), findSubscribed(tx, [...types])]);
  return occurrences.map((occurrence) => {
    const { client_id, account_id, job_id, event, traceparent = null } = occurrence;
    const origin = originOf(account_id);
    const id = newId();
    const endpoint_ids = endpointsOf(event.type);
    return {
      endpoint_ids,
      event: {
        ...{ id, client_id, account_id, job_id, traceparent },
        type: event.type,
        body: envelope(id, origin, occurrence),
        created_at: origin.created,
        mrns: patientsOf(event.data),
        delivery_status: endpoint_ids.length > 0 ? 'pending' : null,
      },
    };
  });
}

/** The second half of `emitEvents`. */
export async function storeEvents(tx: Tx, prepared: readonly PreparedEvent[]): Promise<void> {
  const deliveries = prepared.flatMap(({ endpoint_ids, event: { client_id, id: event_id } }) =>
    endpoint_ids.map((endpoint_id) => ({ client_id, event_id, endpoint_id })),
  );
  const events = prepared.map(({ event }) => event);
  await Promise.all([addEvents(tx, events), addDeliveries(tx, deliveries)]);
}

type Origin = { reference_id: string; created: string };

/** The database's time in milliseconds, as on the wire, so that the row and the envelope have the same timestamp. */
async function findOrigins(tx: Tx, account_ids: readonly string[]): Promise<(account_id: string) => Origin> {
  const rows = await tx<(Origin & { id: string })[]>`
    SELECT id, reference_id, iso(date_trunc('milliseconds', clock_timestamp())) AS created
      FROM accounts WHERE id = ANY (${[...account_ids]}::uuid[])`;
  const origins = new Map(rows.map(({ id, ...origin }) => [id, origin]));
  return (account_id) => {
    const origin = origins.get(account_id);
    if (!origin) throw new Error('An event needs an account of the tenant.');
    return origin;
  };
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
