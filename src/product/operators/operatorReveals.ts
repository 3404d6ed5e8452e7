import type { Database, Tx } from '../../platform/db/database.ts';
import type { RevealKind } from '../../model/dashboard/reveals.ts';
import { hashToken } from '../../platform/security/hash.ts';

/** A record whose patient details an operator has revealed: a job by its number, others by their id. */
export type Reveal = { kind: RevealKind; subject: string };

const reveal_minutes = 15;

/** Shows the patient details of a record to one session. Returns until when. */
export async function addReveal(
  tx: Tx,
  { client_id, session, kind, subject }: Reveal & { client_id: string; session: string },
): Promise<Date> {
  const [row] = await tx<{ expires_at: Date }[]>`
    INSERT INTO operator_reveals (session_hash, client_id, kind, subject, expires_at)
    VALUES (${hashToken(session)}, ${client_id}, ${kind}, ${subject}, now() + make_interval(mins => ${reveal_minutes}))
    ON CONFLICT (session_hash, client_id, kind, subject) DO UPDATE SET expires_at = EXCLUDED.expires_at
    RETURNING expires_at`;
  if (!row) throw new Error('The reveal was not stored.');
  return row.expires_at;
}

/** Whether the session has revealed the record and the time has not expired. */
export async function isRevealed(
  db: Pick<Database, 'read'>,
  { client_id, session, kind, subject }: Reveal & { client_id: string; session: string },
): Promise<boolean> {
  const rows = await db.read(
    client_id,
    (sql) => sql`SELECT FROM operator_reveals WHERE session_hash = ${hashToken(session)} AND client_id = ${client_id}
      AND kind = ${kind} AND subject = ${subject} AND expires_at > now()`,
  );
  return rows.length > 0;
}
