import { Secret, TOTP } from 'otpauth';
import { findAccountByToken } from '../accounts/accounts.ts';
import type { Context } from '../context.ts';
import type { Sandbox } from './laySandbox.ts';

/** What the reference page fills its forms with, so that a newcomer's first click works. */
export async function tryItValues(ctx: Context, sandbox: Sandbox) {
  const { client_id, client_secret, access_token, larkspur } = sandbox;
  const [person] = larkspur.staff;
  return {
    client_id,
    client_secret,
    access_token,
    appointment_id: await someAppointment(ctx, access_token),
    credentials: { username: person?.username, password: person?.password },
    one_time_code: person && new TOTP({ secret: Secret.fromBase32(person.totp_secret) }).generate(),
  };
}

/** No endpoint lists appointments, and their ids are other ones in every installation. */
async function someAppointment(ctx: Context, access_token: string): Promise<string | undefined> {
  const account = await findAccountByToken(ctx, access_token);
  if (!account) return undefined;
  const [row] = await ctx.db.read<{ id: string }>(
    account.client_id,
    (sql) => sql`SELECT doc ->> 'id' AS id FROM appointments WHERE client_id = ${account.client_id}
      AND organisation_id = ${account.organisation_id} ORDER BY starts_at LIMIT 1`,
  );
  return row?.id;
}
