import { Type } from 'typebox';
import type { RecordKind } from '../machine/recordKind.ts';
import { id, minutes, text } from './fields.ts';

const row = Type.Object({ code: id, description: text, defaultMinutes: minutes });

export const visitTypes: RecordKind<typeof row> = {
  table: 'visit_types',
  record: 'visit type',
  id: 'code',
  row,
  blank: { description: '', defaultMinutes: 20 },
};
