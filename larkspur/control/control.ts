import type { Query } from '../database/open.ts';
import { newToken } from '../signin/credentials.ts';

/** Returns the database's control token, creating it on the first call. A reset does not change it. */
export async function controlToken(sql: Query): Promise<string> {
  const [control] = await sql<{ controlToken: string }[]>`select control_token from control`;
  if (control) return control.controlToken;
  const token = newToken();
  await sql`insert into control (control_token) values (${token})`;
  return token;
}

export async function isPracticeSeeded(sql: Query): Promise<boolean> {
  const seeded = await sql`select 1 from control where seeded_on is not null`;
  return seeded.length > 0;
}

export async function markPracticeSeeded(sql: Query, day: string): Promise<void> {
  await sql`update control set seeded_on = ${day}`;
}

/** The date of the seed that the `seeded_…` tables are copies of. */
export async function seedCopyDate(sql: Query): Promise<string | null> {
  const [control] = await sql<{ copiesOf: string | null }[]>`select copies_of from control`;
  return control?.copiesOf ?? null;
}

export async function setSeedCopyDate(sql: Query, day: string): Promise<void> {
  await sql`update control set copies_of = ${day}`;
}
