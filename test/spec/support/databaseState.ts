import type { TestSandbox } from '../../harness/sandbox.ts';
import { countRows } from '../../journeys/support.ts';

/** Row counts that an accepted request increases. Events and lanes change with earlier requests and are not counted. */
export async function countAcceptedWork({ owner }: TestSandbox) {
  const { operations, jobs, idempotency_keys } = await countRows(owner);
  return { operations, jobs, idempotency_keys };
}

/** The tables that contain this text, as text or as the bytes of a binary column. */
export async function tablesContaining({ owner }: TestSandbox, text: string): Promise<string[]> {
  const tables = await owner<{ name: string }[]>`SELECT table_name AS name FROM information_schema.tables
    WHERE table_schema = 'public' AND table_type = 'BASE TABLE' ORDER BY table_name`;
  const forms = [text, Buffer.from(text).toString('hex'), Buffer.from(text).toString('base64')];
  const names: string[] = [];
  for (const { name } of tables) {
    const rows = await owner`SELECT FROM ${owner(name)} AS record
      WHERE EXISTS (SELECT FROM unnest(${forms}::text[]) AS form WHERE strpos(record::text, form) > 0) LIMIT 1`;
    if (rows.length > 0) names.push(name);
  }
  return names;
}
