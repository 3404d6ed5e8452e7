import { type Static, Type } from 'typebox';
import { activity, id, nullable } from '../fields.ts';

const fields = {
  ehr_id: Type.String({ examples: ['703'] }),
  name: Type.String({ examples: ['Casey Bandageworth, RN'] }),
  role: nullable(Type.String({ examples: ['nurse'] })),
  status: activity,
};

export const StaffMemberSource = Type.Object(fields);
export type StaffMemberSource = Static<typeof StaffMemberSource>;
export const StaffMember = Type.Object({ id, ...fields });
export type StaffMember = Static<typeof StaffMember>;
