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

export async function hasCharts(sql: Query): Promise<boolean> {
  const seeded = await sql`select 1 from control where charts_seeded_on is not null`;
  return seeded.length > 0;
}

export async function markCharts(sql: Query, day: string): Promise<void> {
  await sql`update control set charts_seeded_on = ${day}`;
}

/** The day whose seed the copies in `seeded_…` hold. */
export async function copiesOf(sql: Query): Promise<string | null> {
  const [control] = await sql<{ copiesOf: string | null }[]>`select copies_of from control`;
  return control?.copiesOf ?? null;
}

export async function markCopies(sql: Query, day: string): Promise<void> {
  await sql`update control set copies_of = ${day}`;
}
