import { Type } from 'typebox';
import type { Query } from '../database/open.ts';
import type { RecordKind } from '../machine/recordKind.ts';
import { id } from './fields.ts';

const row = Type.Object({ settingId: id, value: Type.Array(Type.String({ maxLength: 100 })) });

/** What the practice may settle for itself; there is one so far, `requiredPatientFields`. */
export const settings: RecordKind<typeof row> = {
  table: 'settings',
  record: 'setting',
  id: 'settingId',
  row,
  blank: { value: [] },
};

export async function requiredPatientFields(sql: Query): Promise<string[]> {
  const [setting] = await sql<{ value: string[] }[]>`
    select value from settings where setting_id = 'requiredPatientFields'`;
  return setting?.value ?? [];
}
