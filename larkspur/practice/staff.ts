import { Type } from 'typebox';
import type { Query } from '../database/open.ts';
import { flag, id, text } from '../records/fields.ts';
import { recordKind } from '../records/recordKind.ts';

export const staff = recordKind(
  { table: 'staff', record: 'staff member', id: 'staffId' },
  Type.Object({ staffId: id, displayName: text, role: text, activeFlag: flag }),
  { displayName: '', role: 'frontdesk', activeFlag: 'Y' },
);

/** A staff member who can sign in. */
export interface Login {
  staffId: string;
  userName: string;
  displayName: string;
  role: string;
  passwordHash: string;
  totpSecret: string;
}

export async function findLogin(sql: Query, userName: string): Promise<Login | undefined> {
  const [login] = await sql<Login[]>`
    select staff_id, user_name, display_name, role, password_hash, totp_secret from staff
    where user_name = ${userName} and active_flag = 'Y' and password_hash is not null`;
  return login;
}

export async function listLogins(sql: Query): Promise<Login[]> {
  return sql<Login[]>`
    select staff_id, user_name, display_name, role, password_hash, totp_secret from staff
    where active_flag = 'Y' and password_hash is not null order by staff_id`;
}
