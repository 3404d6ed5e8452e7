import { type Static, Type } from 'typebox';
import { date_time, id, secret } from '../fields.ts';
import { access_changes, operator_access, role } from './settings.ts';

/** An invitation that was not used yet. */
export const invitation_row = Type.Object({
  id,
  email: Type.String(),
  ...operator_access,
  invited_by: Type.String(),
  created_at: date_time,
  expires_at: date_time,
  expired: Type.Boolean(),
});
export type InvitationRow = Static<typeof invitation_row>;

export const new_invitation = Type.Object({
  email: Type.String({ maxLength: 320, pattern: '^[^\\s@]+@[^\\s@]+$' }),
  ...access_changes,
  role,
});

/** The token is in the fragment of the link, which browsers do not send to servers. */
export const created_invitation = Type.Object({ id, link: Type.String(), expires_at: date_time });

export const invitation_token = secret({ maxLength: 100 });
