import { styleText } from 'node:util';
import { Secret, TOTP } from 'otpauth';
import { findAccountByToken } from '../../product/accounts/accounts.ts';
import type { Context } from '../../product/context.ts';
import type { Sandbox } from './seedSandbox.ts';

/** Printed when the sandbox is ready: addresses, credentials and a first request to paste. */
export function banner(sandbox: Sandbox, file: string, { color }: { color: boolean }): string {
  const { base_url, client_id, client_secret, access_token, dashboard, example, larkspur } = sandbox;
  const [person] = larkspur.staff;
  const { patient_mrn, provider_id, location_id, assigned_to_id } = example;
  const body = JSON.stringify({ patient_mrn, provider_id, location_id, assigned_to_id, reason: 'First call' });
  const paint = (format: 'bold' | 'cyan' | 'green' | 'dim', text: string) => (color ? styleText(format, text) : text);
  const row = (label: string, url: string, more: string) =>
    `  ${paint('dim', label.padEnd(11))} ${paint('cyan', url)}${more === '' ? '' : `\n${' '.repeat(14)}${more}`}`;
  return `
${paint('green', paint('bold', 'Chartwire is ready'))} (sandbox mode, synthetic patients only).

${row('Dashboard', dashboard.url, `${dashboard.email}, password ${dashboard.password}`)}
${row('Docs', sandbox.docs_url, '')}
${row('Larkspur', larkspur.url, `the sandbox EMR: ${person?.username}, password ${person?.password}, codes at ${larkspur.url}/codes`)}
${row('API', base_url, `all credentials are in ${file}`)}

${paint('bold', 'Next:')} press “Send first write” in the dashboard, run ./chartwire trigger telephone_encounter.created, or paste

  curl ${base_url}/v1/telephone-encounters -H 'content-type: application/json' \\
    -H 'client_id: ${client_id}' -H 'client_secret: ${client_secret}' \\
    -H 'access_token: ${access_token}' \\
    -d '${body}'

${paint('dim', 'Ctrl-C stops.')}
`;
}

/** Printed once, at the first start of an installation, on a terminal: only a hash of the password is stored. */
export function ownerNotice(base_url: string, { email, password }: { email: string; password: string }): string {
  return `
The first owner account was created. The password is not shown again and expires in 72 hours: sign in now and change it.

  Dashboard  ${base_url}/dashboard
  Email      ${email}
  Password   ${password}

`;
}

/** For everything else, because what is printed stays in a log. */
export function ownerFileNotice(base_url: string, email: string, file: string): string {
  return `
The first owner account was created. Its temporary password is in a file that only this user can read. It expires in
72 hours: sign in, change it and delete the file.

  Dashboard  ${base_url}/dashboard
  Email      ${email}
  Password   in ${file}

`;
}

/** Values for the "Try it" forms of the API reference, so that a request works without typing. */
export async function tryItValues(ctx: Context, sandbox: Sandbox) {
  const { client_id, client_secret, access_token, larkspur } = sandbox;
  const [person] = larkspur.staff;
  const ids = await sampleIds(ctx, access_token);
  return {
    client_id,
    client_secret,
    access_token,
    larkspur_url: larkspur.url,
    ...ids,
    found: findable(ids),
    credentials: { username: person?.username, password: person?.password },
    one_time_code: person && new TOTP({ secret: Secret.fromBase32(person.totp_secret) }).generate(),
  };
}

type SampleIds = Record<'appointment_id' | 'appointment_ehr_id' | 'job_id' | 'patient_id' | 'event_id', string | null>;

/** By the sources that endpoints declare (`found_in`), so that samples have IDs without a request for each. */
function findable(ids: Partial<SampleIds>): Record<string, string | null | undefined> {
  return {
    'sandbox#/appointment_id': ids.appointment_id,
    'sandbox#/appointment_ehr_id': ids.appointment_ehr_id,
    'sandbox#/job_id': ids.job_id,
    'GET /v1/patients?mrn=LK100001#/patients/0/id': ids.patient_id,
    'GET /v1/webhook-events#/webhook_events/0/id': ids.event_id,
  };
}

/**
 * Ids that differ between installations: of a patient, the newest event, and a job. Of appointments, one without a claim;
 * a job with an event is preferred to a newer one without.
 */
async function sampleIds(ctx: Context, access_token: string): Promise<Partial<SampleIds>> {
  const account = await findAccountByToken(ctx, access_token);
  if (!account) return {};
  const { client_id, organization_id } = account;
  const [row] = await ctx.db.read<SampleIds>(
    client_id,
    (sql) => sql`SELECT appointment.*,
      (SELECT id::text FROM jobs WHERE client_id = ${client_id} AND account_id = ${account.id}
        ORDER BY event_id IS NULL, id DESC LIMIT 1) AS job_id,
      (SELECT replace(event_id::text, '-', '') FROM jobs WHERE client_id = ${client_id} AND account_id = ${account.id}
         AND event_id IS NOT NULL ORDER BY id DESC LIMIT 1) AS event_id,
      (SELECT doc ->> 'id' FROM patients WHERE client_id = ${client_id} AND organization_id = ${organization_id}
         AND mrn = 'LK100001' LIMIT 1) AS patient_id
      FROM (SELECT) AS one LEFT JOIN (
        SELECT doc ->> 'id' AS appointment_id, ehr_id AS appointment_ehr_id FROM appointments
         WHERE client_id = ${client_id} AND organization_id = ${organization_id} AND ehr_id IS NOT NULL
           AND NOT EXISTS (SELECT FROM claims WHERE claims.client_id = ${client_id}
             AND claims.organization_id = ${organization_id} AND claims.patient_mrn = appointments.patient_mrn
             AND claims.doc ->> 'emr_appointment_id' = appointments.ehr_id)
         ORDER BY starts_at LIMIT 1) AS appointment ON true`,
  );
  return row ?? {};
}
