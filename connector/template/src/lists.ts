import { Compile, EmrFailure, type ListPage, Type } from '@chartwire/connector';
import { type Send, type Shape, unreadable } from './session.js';

const page_size = 50;
const envelope = Compile(Type.Object({ total: Type.Integer({ minimum: 0 }), items: Type.Array(Type.Unknown()) }));

/**
 * Reads a list to its end or fails: Chartwire deletes its copy of every record that is missing from a list which was read
 * to the end. A list that changes while it is read fails too, and is read again later.
 */
export async function* readPages<Row, Source>(
  send: Send,
  path: string,
  { row, toSource }: { row: Shape<Row>; toSource: (row: Row) => Source },
): AsyncGenerator<ListPage<Source>> {
  let read = 0;
  let expected: number | undefined;
  for (let page = 1; expected === undefined || read < expected; page++) {
    const url = `${path}${path.includes('?') ? '&' : '?'}page=${page}&limit=${page_size}`;
    const { total, items } = await send({ method: 'GET', path: url, shape: envelope, returns: 'list' });
    if (!items.every((each): each is Row => row.Check(each))) throw new EmrFailure('unavailable', unreadable);
    expected ??= total;
    read += items.length;
    if (total !== expected || read > expected || (items.length === 0 && read < expected)) {
      throw new EmrFailure('unavailable', 'Example EMR returned an incomplete list.');
    }
    yield items.map(toSource);
  }
}
