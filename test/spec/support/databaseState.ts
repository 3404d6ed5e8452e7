import type { TestSandbox } from '../../harness/sandbox.ts';
import { countRows } from '../../journeys/journey.ts';

/** What a request leaves behind when it is accepted. Events and lanes come and go with earlier ones, and are not counted. */
export async function acceptedWork({ owner }: TestSandbox) {
  const { operations, jobs, idempotency_keys } = await countRows(owner);
  return { operations, jobs, idempotency_keys };
}

/** The names of the tables that hold this text somewhere, as it is or as the bytes of a binary column. */
export async function tablesHolding({ owner }: TestSandbox, text: string): Promise<string[]> {
  const tables = await owner<{ name: string }[]>`SELECT table_name AS name FROM information_schema.tables
    WHERE table_schema = 'public' AND table_type = 'BASE TABLE' ORDER BY table_name`;
  const forms = [text, Buffer.from(text).toString('hex'), Buffer.from(text).toString('base64')];
  const holding: string[] = [];
  for (const { name } of tables) {
    const rows = await owner`SELECT FROM ${owner(name)} AS held
      WHERE EXISTS (SELECT FROM unnest(${forms}::text[]) AS form WHERE strpos(held::text, form) > 0) LIMIT 1`;
    if (rows.length > 0) holding.push(name);
  }
  return holding;
}
