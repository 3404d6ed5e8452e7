import type { Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';
import { getRecord, type RecordKind } from '../machine/recordKind.ts';

/** New work may name only what the practice still uses. */
export async function getActive(sql: Query, kind: RecordKind, id: string): Promise<void> {
  const record = await getRecord(sql, kind, id);
  if ('activeFlag' in record && record.activeFlag === 'N') {
    throw new EmrError('REFUSED', `The ${kind.record} with id '${id}' is inactive.`);
  }
}
