import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { EmrFailure } from '../connector.ts';
import { answerOf, type Shape, unreadable } from './call.ts';
import type { Ask } from './session.ts';

/** One of Larkspur's lists: its path, the schema of a row, and the mapping of a row. */
export type List<Row, Source extends { ehr_id: string }> = {
  path: string;
  row: Shape<Row>;
  source: (row: Row) => Source;
};

/** Infers the types of a list from its row schema. */
export function list<Row, Source extends { ehr_id: string }>(declared: List<Row, Source>): List<Row, Source> {
  return declared;
}

/**
 * Reads a list to its end or fails, because records missing from a complete list are deleted on our side. A record
 * removed during the read shifts the following ones by one, past the next page; only the total shows it. A record added
 * during the read comes last, because the lists are ordered by ascending id.
 */
export async function* pages<Row, Source extends { ehr_id: string }>(
  ask: Ask,
  { path, row, source }: List<Row, Source>,
  search: Record<string, string> = {},
): AsyncGenerator<Source[]> {
  const seen = new Set<string>();
  let expected: number | undefined;
  for (let page = 1; expected === undefined || seen.size < expected; page++) {
    const query = new URLSearchParams({ ...search, page: String(page), pageSize: String(page_size) });
    const { total, rows } = answerOf(await ask({ method: 'GET', path: `${path}?${query}`, answer: envelope }));
    const removed = expected !== undefined && total < expected;
    expected = total;
    if (!rows.every((one): one is Row => row.Check(one))) throw new EmrFailure('unavailable', unreadable);
    const due = Math.min(page_size, expected - seen.size);
    const whole = seen.size + due;
    const sources = rows.map(source);
    for (const { ehr_id } of sources) seen.add(ehr_id);
    if (removed || rows.length !== due || seen.size !== whole) {
      throw new EmrFailure('unavailable', 'Larkspur gave an incomplete list.');
    }
    yield sources;
  }
}

/** Larkspur allows up to 500. */
const page_size = 200;
const envelope = Compile(Type.Object({ total: Type.Integer({ minimum: 0 }), rows: Type.Array(Type.Unknown()) }));
