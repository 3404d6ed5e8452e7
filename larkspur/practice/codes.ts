import { Type } from 'typebox';
import type { Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';
import type { RecordKind } from '../machine/recordKind.ts';
import { id, text } from './fields.ts';

const row = Type.Object({ codeId: id, list: Type.Enum(['language', 'race', 'ethnicity']), code: id, name: text });

export type CodeList = 'language' | 'race' | 'ethnicity';

export interface Code {
  code: string;
  name: string;
}

export const codes: RecordKind<typeof row> = { table: 'codes', record: 'code', id: 'codeId', row, blank: { name: '' } };

export async function listCodes(sql: Query, list: CodeList): Promise<Code[]> {
  return sql<Code[]>`select code, name from codes where list = ${list} order by name, code`;
}

/** The code behind a code or a name, whatever the case; anything else is refused with the names there are. */
export async function codeFor(sql: Query, list: CodeList, given: string): Promise<string> {
  const known = await listCodes(sql, list);
  const same = (text: string) => text.toLowerCase() === given.trim().toLowerCase();
  const found = known.find(({ code }) => same(code)) ?? known.find(({ name }) => same(name));
  if (found) return found.code;
  const accepted = known.map(({ name }) => name);
  throw new EmrError('REFUSED', `Unknown ${list} '${given}'. Accepted: ${accepted.join(', ')}.`, {
    field: list,
    accepted,
  });
}
