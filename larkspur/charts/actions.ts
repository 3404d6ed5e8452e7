import type { Query } from '../database/open.ts';

/** A line of an encounter's action log. Lines are only ever appended. */
export interface Action {
  at: Date;
  by: string;
  text: string;
}

export async function addAction(
  sql: Query,
  encounterId: string,
  action: Action & { priority: 'H' | 'N' | null },
): Promise<string> {
  const [added] = await sql<{ actionId: string }[]>`
    insert into actions ${sql.values({ encounterId, ...action })} returning action_id`;
  return added?.actionId ?? '';
}

/** The action logs of several encounters, each oldest first. */
export async function listActions(sql: Query, encounterIds: string[]): Promise<Map<string, Action[]>> {
  const logs = new Map<string, Action[]>();
  const rows = await sql<(Action & { encounterId: string })[]>`
    select encounter_id, at, by, text from actions
    where encounter_id = any(${encounterIds}) order by length(action_id), action_id`;
  for (const { encounterId, ...action } of rows) logs.set(encounterId, [...(logs.get(encounterId) ?? []), action]);
  return logs;
}
