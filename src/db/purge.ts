import type { Sql } from './database.ts';

/** Removes what has run out: idempotency keys after a day, tokens a day after their end, operators' sessions after a day. */
export async function purgeExpired(system: Sql): Promise<void> {
  await system`DELETE FROM idempotency_keys WHERE created_at < now() - interval '24 hours'`;
  await system`DELETE FROM public_tokens WHERE expires_at < now() - interval '1 day'`;
  await system`DELETE FROM link_tokens WHERE expires_at < now() - interval '1 day'`;
  await system`DELETE FROM operator_sessions WHERE created_at < now() - interval '1 day'`;
}
