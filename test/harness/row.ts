import { resolve } from 'node:path';
import { readRows } from '../../scripts/conformance.ts';

const root = resolve(import.meta.dirname, '../..');
const statements = new Map(readRows(root).map(({ id, statement }) => [id, statement]));

/**
 * The title of a test that checks one or more rows of `docs/specification/rows.tsv`: `PHA-01 …`.
 * `scripts/conformance.ts` finds the ids in the source, so each must be written as a string literal.
 */
export function row(...ids: [string, ...string[]]): string {
  return ids
    .map((id) => {
      const statement = statements.get(id);
      if (statement === undefined) throw new Error(`${id} is not a row of docs/specification/rows.tsv.`);
      return `${id} ${statement}`;
    })
    .join(' / ');
}
