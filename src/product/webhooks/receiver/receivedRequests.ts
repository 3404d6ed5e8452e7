import { newId } from '../../../catalog/ids.ts';
import { patientsOf } from '../../../model/events.ts';
import type { Database, Sql, Tx } from '../../../platform/db/database.ts';
import type { Verdict } from '../../../platform/security/signatures.ts';
import type { ReceiverResponse } from './receivers.ts';

/** Received requests contain health data, so few are kept, and not for long. */
export const kept_max = 200;
const kept_hours = 24;

/** A request that the built-in receiver got, and how it responded. */
export type ReceivedRow = Omit<ReceiverResponse, 'times'> & {
  id: string;
  at: string;
  method: string;
  body_bytes: number;
  verdict: Verdict;
  event_id: string | null;
  event_type: string | null;
  attempt: string | null;
};

export type ReceivedRequest = ReceivedRow & { headers: Record<string, string>; body: string };

export type NewRequest = Omit<ReceivedRequest, 'id' | 'at'> & { client_id: string };

/** Stores a request and deletes the oldest ones beyond the maximum. */
export async function addRequest(tx: Tx, request: NewRequest): Promise<void> {
  await tx`
    INSERT INTO received_requests (id, client_id, method, headers, body, body_bytes, verdict, event_id, event_type,
      attempt, status, delay_ms)
    VALUES (${newId()}, ${request.client_id}, ${request.method}, ${tx.json(request.headers)}, ${request.body},
      ${request.body_bytes}, ${request.verdict}, ${request.event_id}, ${request.event_type}, ${request.attempt},
      ${request.status}, ${request.delay_ms})`;
  await tx`
    DELETE FROM received_requests WHERE client_id = ${request.client_id} AND id <= (
      SELECT id FROM received_requests WHERE client_id = ${request.client_id}
       ORDER BY id DESC OFFSET ${kept_max} LIMIT 1)`;
}

/** Newest first. */
export function listRequests(
  db: Database,
  client_id: string,
  { before, page_size }: { before: string | undefined; page_size: number },
): Promise<ReceivedRow[]> {
  return db.read<ReceivedRow>(
    client_id,
    (sql) => sql`
      SELECT replace(id::text, '-', '') AS id, iso(at) AS at, method, body_bytes, verdict, event_id, event_type, attempt,
             status, delay_ms
        FROM received_requests
       WHERE client_id = ${client_id} AND at > now() - make_interval(hours => ${kept_hours})
       ${before === undefined ? sql`` : sql`AND id < ${before}`}
       ORDER BY received_requests.id DESC LIMIT ${page_size}::bigint`,
  );
}

export async function readRequest(db: Database, client_id: string, id: string): Promise<ReceivedRequest | undefined> {
  const [row] = await db.read<ReceivedRequest>(
    client_id,
    (sql) => sql`
      SELECT replace(id::text, '-', '') AS id, iso(at) AS at, method, body_bytes, verdict, event_id, event_type, attempt,
             status, delay_ms, headers, body
        FROM received_requests WHERE client_id = ${client_id} AND id = ${id}`,
  );
  return row;
}

/** The patients that a received body names. The receiver accepts any body, so it may not be an event. */
export function patientsInBody(body: string): string[] {
  try {
    const parsed: unknown = JSON.parse(body);
    return typeof parsed === 'object' && parsed !== null && 'data' in parsed ? patientsOf(parsed.data) : [];
  } catch {
    return [];
  }
}

export async function clearRequests(tx: Tx): Promise<number> {
  const deleted = await tx`DELETE FROM received_requests`;
  return deleted.count;
}

/** Deletes the expired requests of all clients. */
export async function purgeReceived(system: Sql): Promise<void> {
  await system.pooled`DELETE FROM received_requests WHERE at < now() - make_interval(hours => ${kept_hours})`;
}
