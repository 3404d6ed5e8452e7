import { Secret, TOTP } from 'otpauth';
import { findAccountByToken } from '../../product/accounts/accounts.ts';
import type { Context } from '../../product/context.ts';
import type { Sandbox } from './seedSandbox.ts';

/** Values for the "Try it" forms of the API reference, so that a request works without typing. */
export async function tryItValues(ctx: Context, sandbox: Sandbox) {
  const { client_id, client_secret, access_token, larkspur } = sandbox;
  const [person] = larkspur.staff;
  return {
    client_id,
    client_secret,
    access_token,
    ...(await sampleIds(ctx, access_token)),
    credentials: { username: person?.username, password: person?.password },
    one_time_code: person && new TOTP({ secret: Secret.fromBase32(person.totp_secret) }).generate(),
  };
}

/**
 * Ids that differ between installations and that no endpoint lists: of an appointment and of a job. A job with an event
 * is preferred to a newer one without.
 */
async function sampleIds(
  ctx: Context,
  access_token: string,
): Promise<{ appointment_id?: string | null; job_id?: string | null }> {
  const account = await findAccountByToken(ctx, access_token);
  if (!account) return {};
  const { client_id, organization_id } = account;
  const [row] = await ctx.db.read<{ appointment_id: string | null; job_id: string | null }>(
    client_id,
    (sql) => sql`SELECT
      (SELECT doc ->> 'id' FROM appointments WHERE client_id = ${client_id}
        AND organization_id = ${organization_id} ORDER BY starts_at LIMIT 1) AS appointment_id,
      (SELECT id::text FROM jobs WHERE client_id = ${client_id} AND account_id = ${account.id}
        ORDER BY event_id IS NULL, id DESC LIMIT 1) AS job_id`,
  );
  return row ?? {};
}
