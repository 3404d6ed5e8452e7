import type { Sql } from './database.ts';

/** Deletes tokens a day after they expired, and operators' sessions after a day. */
export async function purgeExpired({ pooled: sql }: Sql): Promise<void> {
  await sql`DELETE FROM public_tokens WHERE expires_at < now() - interval '1 day'`;
  await sql`DELETE FROM link_tokens WHERE expires_at < now() - interval '1 day'`;
  await sql`DELETE FROM operator_sessions WHERE created_at < now() - interval '1 day'`;
}
