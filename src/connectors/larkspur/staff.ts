import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { StaffMemberSource } from '../../model/records/staff.ts';
import { list } from './lists.ts';
import { activity, blankToNull, flag, id, text, textOrNull } from './values.ts';

export const staff = list({
  path: '/api/staff',
  row: Compile(Type.Object({ staffId: id, displayName: text, role: textOrNull, activeFlag: flag })),
  source: (row): StaffMemberSource => ({
    ehr_id: row.staffId,
    name: row.displayName,
    role: blankToNull(row.role),
    status: activity(row.activeFlag),
  }),
});
