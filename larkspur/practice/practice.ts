import { Type } from 'typebox';
import type { Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';
import { id, text } from '../records/fields.ts';
import { foldName } from '../records/foldName.ts';
import { recordKind } from '../records/recordKind.ts';

export interface Practice {
  practiceName: string;
  timeZone: string;
}

export async function getPractice(sql: Query): Promise<Practice> {
  const [practice] = await sql<Practice[]>`select practice_name, time_zone from practice`;
  if (!practice) throw new Error('The Larkspur database has no practice: it was not seeded.');
  return practice;
}

/** Today's date in the practice's time zone, MM/DD/YYYY. */
export async function todayAtPractice(sql: Query, now: Date): Promise<string> {
  const { timeZone } = await getPractice(sql);
  const day = { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' } as const;
  return new Intl.DateTimeFormat('en-US', day).format(now);
}

/** Settings that the practice can change. `requiredPatientFields` is the only one. */
export const settings = recordKind(
  { table: 'settings', record: 'setting', id: 'settingId' },
  Type.Object({ settingId: id, value: Type.Array(Type.String({ maxLength: 100 })) }),
  { value: [] },
);

export async function requiredPatientFields(sql: Query): Promise<string[]> {
  const [setting] = await sql<{ value: string[] }[]>`
    select value from settings where setting_id = 'requiredPatientFields'`;
  return setting?.value ?? [];
}

const codeList = Type.Enum(['language', 'race', 'ethnicity', 'payment_method', 'phone_call_type']);

export type CodeList = 'language' | 'race' | 'ethnicity' | 'payment_method' | 'phone_call_type';

export interface Code {
  code: string;
  name: string;
}

export const codes = recordKind(
  { table: 'codes', record: 'code', id: 'codeId' },
  Type.Object({ codeId: id, list: codeList, code: id, name: text }),
  { name: '' },
);

export async function listCodes(sql: Query, list: CodeList): Promise<Code[]> {
  return sql<Code[]>`select code, name from codes where list = ${list} order by name, code`;
}

/** Throws NOT_FOUND if the list has no such code. */
export async function requireCode(sql: Query, list: CodeList, code: string): Promise<void> {
  const [match] = await sql`select from codes where list = ${list} and code = ${code}`;
  const record = list.replaceAll('_', ' ');
  if (!match) throw new EmrError('NOT_FOUND', `No ${record} with id '${code}'.`, { record });
}

/** Resolves a code or a name, compared by `foldName`, to its code. The error for an unknown value lists the accepted names. */
export async function resolveCode(sql: Query, list: CodeList, value: string): Promise<string> {
  const codes = await listCodes(sql, list);
  const matches = (text: string) => foldName(text) === foldName(value);
  const match = codes.find(({ code }) => matches(code)) ?? codes.find(({ name }) => matches(name));
  if (match) return match.code;
  const accepted = codes.map(({ name }) => name);
  throw new EmrError('UNKNOWN_VALUE', `Unknown ${list} '${value}'. Accepted: ${accepted.join(', ')}.`, {
    field: list,
    accepted,
  });
}
