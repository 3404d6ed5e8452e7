import type { Query } from '../database/open.ts';

export interface Practice {
  practiceName: string;
  timeZone: string;
}

export async function getPractice(sql: Query): Promise<Practice> {
  const [practice] = await sql<Practice[]>`select practice_name, time_zone from practice`;
  if (!practice) throw new Error('Larkspur has no practice: its seed was not laid.');
  return practice;
}
