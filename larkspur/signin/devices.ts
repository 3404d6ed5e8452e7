import type { Query } from '../database/open.ts';
import { hashToken, newToken } from '../secrets.ts';

/** Remembers a device for one staff member and one sign-in: each gets a token of its own. */
export async function rememberDevice(sql: Query, staffId: string, now: Date): Promise<string> {
  const token = newToken();
  await sql`insert into devices (token_hash, staff_id, created_at) values (${hashToken(token)}, ${staffId}, ${now})`;
  return token;
}

export async function knowsDevice(sql: Query, staffId: string, token: string): Promise<boolean> {
  const found = await sql`select 1 from devices where token_hash = ${hashToken(token)} and staff_id = ${staffId}`;
  return found.length > 0;
}

export async function forgetAllDevices(sql: Query): Promise<void> {
  await sql`delete from devices`;
}
