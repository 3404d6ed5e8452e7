import type { StaffMemberSource } from '../model/records/staff.ts';
import type { RecordKind } from './recordKind.ts';

export const staff: RecordKind<StaffMemberSource> = {
  table: 'staff',
  list: (operations) => operations.listStaff,
  keeps: [],
  row: (source, id) => ({ doc: { id, ...source } }),
};
