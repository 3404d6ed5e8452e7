import { type Static, Type } from 'typebox';
import { activity, id, nullable } from '../fields.ts';
import { byStatus, recordKind } from './recordKind.ts';

const fields = {
  ehr_id: Type.String({ examples: ['703'] }),
  name: Type.String({ description: 'Name of the staff member', examples: ['Casey Bandageworth, RN'] }),
  role: nullable(Type.String({ description: 'Role in the practice', examples: ['nurse'] })),
  status: activity,
};

export const StaffMemberSource = Type.Object(fields);
export type StaffMemberSource = Static<typeof StaffMemberSource>;
export const StaffMember = Type.Object(
  { id, ...fields },
  { schema_name: 'StaffMember', description: 'A staff member of the practice' },
);
export type StaffMember = Static<typeof StaffMember>;

export const staff = recordKind({
  name: 'staff',
  operation: 'listStaff',
  consent: 'staff',
  source: StaffMemberSource,
  wire: StaffMember,
  labels: { singular: 'staff member', plural: 'staff' },
  group: 'Practice',
  row: (source, id) => ({ doc: { id, ...source }, status: source.status }),
  filters: { status: byStatus },
  list: { returns: 'all', summary: 'List staff members' },
  dashboard_columns: ['name', 'role', 'ehr_id', 'status'],
});
