import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { EmrFailure } from '../emrFailure.ts';
import type { LeftRecord, ListPage } from '../operations/operation.ts';
import { requireBody, type Shape } from './call.ts';
import type { SendRequest } from './session.ts';
import { unreadable_response } from './values.ts';

/** One of Larkspur's lists: its path, the schema of a row, and the mapping of a row. */
export type List<Row, Source extends { ehr_id: string }> = {
  path: string;
  row: Shape<Row>;
  toSource: (row: Row) => Source;
  /** A row that is not part of the list: a merged chart. */
  toLeft?: (row: Row) => LeftRecord | undefined;
};

/** Infers the types of a list from its row schema. */
export function defineList<Row, Source extends { ehr_id: string }>(declaration: List<Row, Source>): List<Row, Source> {
  return declaration;
}

/**
 * Reads a list to its end or fails, because records missing from a complete list are deleted on our side. A record
 * removed during the read shifts the following ones by one, past the next page; only the total shows it. A record added
 * during the read comes last, because the lists are ordered by ascending id.
 */
export async function* readPages<Row, Source extends { ehr_id: string }>(
  request: SendRequest,
  { path, row, toSource, toLeft = () => undefined }: List<Row, Source>,
  search: Record<string, string> = {},
): AsyncGenerator<ListPage<Source>> {
  const seen = new Set<string>();
  let expected: number | undefined;
  for (let page = 1; expected === undefined || seen.size < expected; page++) {
    const query = new URLSearchParams({ ...search, page: String(page), pageSize: String(page_size) });
    const { total, rows } = requireBody(
      await request({ method: 'GET', path: `${path}?${query}`, schema: envelope, returns: 'list' }),
    );
    const removed = expected !== undefined && total < expected;
    expected = total;
    if (!rows.every((each): each is Row => row.Check(each))) throw new EmrFailure('unavailable', unreadable_response);
    const rows_due = Math.min(page_size, expected - seen.size);
    const seen_due = seen.size + rows_due;
    const sources = rows.map(toSource);
    for (const { ehr_id } of sources) seen.add(ehr_id);
    if (removed || rows.length !== rows_due || seen.size !== seen_due) {
      throw new EmrFailure('unavailable', 'Larkspur returned an incomplete list.');
    }
    const left = rows.map(toLeft).filter((each) => each !== undefined);
    const left_ids = new Set(left.map(({ ehr_id }) => ehr_id));
    const current = sources.filter(({ ehr_id }) => !left_ids.has(ehr_id));
    yield left.length > 0 ? Object.assign(current, { left }) : current;
  }
}

/** Larkspur allows up to 500. */
const page_size = 200;
const envelope = Compile(Type.Object({ total: Type.Integer({ minimum: 0 }), rows: Type.Array(Type.Unknown()) }));
