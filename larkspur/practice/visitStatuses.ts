import { Type } from 'typebox';
import type { RecordKind } from '../machine/recordKind.ts';
import { id, text } from './fields.ts';

const row = Type.Object({ code: id, description: text });

export const visitStatuses: RecordKind<typeof row> = {
  table: 'visit_statuses',
  record: 'visit status',
  id: 'code',
  row,
  blank: { description: '' },
};

/** Nobody comes: the time of such an appointment is free again. */
export const FREE_STATUSES = ['CAN', 'NOS', 'RSC'];
