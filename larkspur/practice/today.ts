import type { Query } from '../database/open.ts';
import { getPractice } from './practice.ts';

/** The date on the practice's wall, MM/DD/YYYY. */
export async function todayAt(sql: Query, now: Date): Promise<string> {
  const { timeZone } = await getPractice(sql);
  const day = { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' } as const;
  return new Intl.DateTimeFormat('en-US', day).format(now);
}
