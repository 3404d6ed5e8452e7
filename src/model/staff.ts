import { type Static, Type } from 'typebox';
import { activity, id, nullable } from './fields.ts';

const fields = {
  ehr_id: Type.String(),
  name: Type.String(),
  role: nullable(Type.String()),
  status: activity,
};

export const StaffMemberSource = Type.Object(fields);
export type StaffMemberSource = Static<typeof StaffMemberSource>;
export const StaffMember = Type.Object({ id, ...fields });
export type StaffMember = Static<typeof StaffMember>;
