import type { Tx } from '../db/database.ts';
import { type EventOf, events, patientsOf } from '../events.ts';
import { newId } from '../ids.ts';
import { addDeliveries } from './deliveries.ts';
import { findWanting } from './endpoints.ts';
import { addEvent } from './events.ts';

/** What happened, of which account, by which job. */
export type Occasion = { client_id: string; account_id: string; job_id: number | null; event: EventOf };

/**
 * Stores an event and one delivery for each enabled endpoint that wants its type, in the transaction that makes it
 * true: both stand or neither. Gives the event's id. The caller rings `chartwire_deliveries` after its commit.
 */
export async function emitEvent(tx: Tx, occasion: Occasion): Promise<string> {
  const { client_id, account_id, job_id, event } = occasion;
  const origin = await findOrigin(tx, account_id);
  const endpoint_ids = await findWanting(tx, event.type);
  const id = newId();
  const body = envelope(id, origin, occasion);
  await addEvent(tx, {
    ...{ id, client_id, account_id, job_id, body, type: event.type, created: origin.created },
    mrns: patientsOf(event.data),
    delivery_status: endpoint_ids.length > 0 ? 'pending' : null,
  });
  await addDeliveries(tx, { client_id, event_id: id, endpoint_ids });
  return id;
}

type Origin = { reference_id: string; created: string };

/** The time is the database's, cut to the milliseconds of the wire: the row and the envelope name the same instant. */
async function findOrigin(tx: Tx, account_id: string): Promise<Origin> {
  const [origin] = await tx<Origin[]>`
    SELECT reference_id, iso(date_trunc('milliseconds', clock_timestamp())) AS created
      FROM accounts WHERE id = ${account_id}`;
  if (!origin) throw new Error('An event needs an account of the tenant.');
  return origin;
}

/** The text that is sent and signed. JSON leaves out what is undefined. */
function envelope(id: string, origin: Origin, { job_id, event }: Occasion): string {
  const kind = events[event.type];
  return JSON.stringify({
    id,
    object: 'event',
    created: origin.created,
    type: event.type,
    job_id: kind.names_job && job_id !== null ? String(job_id) : undefined,
    access_token_reference_id: kind.names_account ? origin.reference_id : undefined,
    data: event.data,
  });
}
