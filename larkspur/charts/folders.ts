import type { Query } from '../database/open.ts';

/** Makes a folder and every folder it lies in; those there are stay as they are. */
export async function makeFolders(sql: Query, patientId: string, path: string): Promise<void> {
  const parts = path.split('/');
  const paths = parts.map((_, index) => parts.slice(0, index + 1).join('/'));
  await sql`
    insert into folders (patient_id, path) select ${patientId}, unnest(${paths}::text[]) on conflict do nothing`;
}

export async function listFolders(sql: Query, patientId: string): Promise<string[]> {
  const rows = await sql<{ path: string }[]>`
    select path from folders where patient_id = ${patientId} order by path`;
  return rows.map((row) => row.path);
}

/** 'A / B/' and 'A/B' are the same place; a name that is empty or only dots is no folder. */
export function folderPathOf(given: string): string | undefined {
  const parts = given.split('/').map((part) => part.trim());
  if (parts.at(-1) === '') parts.pop();
  return parts.length > 0 && parts.every((part) => /[^.]/.test(part)) ? parts.join('/') : undefined;
}
