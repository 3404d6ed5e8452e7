import type { Query } from '../database/open.ts';
import { newToken } from '../secrets.ts';

/** The token is made once per database and outlives every reset. */
export async function controlToken(sql: Query): Promise<string> {
  const [control] = await sql<{ controlToken: string }[]>`select control_token from control`;
  if (control) return control.controlToken;
  const token = newToken();
  await sql`insert into control (control_token) values (${token})`;
  return token;
}

export async function isSeeded(sql: Query): Promise<boolean> {
  const seeded = await sql`select 1 from control where seeded_on is not null`;
  return seeded.length > 0;
}

export async function markSeeded(sql: Query, day: string): Promise<void> {
  await sql`update control set seeded_on = ${day}`;
}
