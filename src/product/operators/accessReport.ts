import { csvLine } from '../../platform/csv.ts';
import type { Context } from '../context.ts';
import { type Access, accessColumns, type Rights } from './operatorAccess.ts';

/**
 * What has access: an operator, an invitation that was not used yet, a secret of a client, or a client that has none.
 */
export const access_kinds = ['operator', 'invitation', 'client_secret', 'client'] as const;
export const access_states = ['active', 'disabled', 'inactive', 'expired'] as const;
export const sign_in_ways = ['password', 'passkey', 'single_sign_on'] as const;
export const second_factors = ['passkey', 'authenticator_app', 'identity_provider'] as const;

/** A row of the access report. It contains no secrets. */
export type AccessRow = {
  id: string;
  kind: (typeof access_kinds)[number];
  /** Of the operator or the client. */
  name: string;
  /** The email address, or the `client_id`. */
  account: string;
  /** A secret's label and last four characters. */
  label: string | null;
  status: (typeof access_states)[number];
  rights: string[];
  sign_in: (typeof sign_in_ways)[number][];
  second_factor: (typeof second_factors)[number][];
  created_at: string;
  /** Who invited the operator, or created the secret, and when if that is not the creation. */
  created_by: string | null;
  invited_at: string | null;
  last_sign_in_at: string | null;
  last_used_at: string | null;
  expires_at: string | null;
};

/** Everyone and everything with access to the installation, operators first. */
export async function readAccessReport({ db }: Pick<Context, 'db'>): Promise<AccessRow[]> {
  return db.system.begin(async (tx) => {
    const operators = await tx<(Access & Rights & OperatorColumns)[]>`
      SELECT id, email, name, ${accessColumns(tx)}, disabled_at IS NOT NULL AS disabled, inactive,
             sso_subject IS NOT NULL AS single_sign_on, password_hash IS NOT NULL AS password,
             totp_sealed IS NOT NULL AS totp,
             EXISTS (SELECT FROM operator_passkeys WHERE operator_id = operators.id) AS passkey,
             iso(created_at) AS created_at, invited_by, iso(invited_at) AS invited_at,
             iso(signed_in_at) AS last_sign_in_at, iso(last_used_at) AS last_used_at
        FROM operators ORDER BY email`;
    const invitations = await tx<(Access & Rights & InvitationColumns)[]>`
      SELECT id, email, role, all_clients, may_reveal, may_see_disclosures, may_hold, invited_by, iso(created_at) AS created_at,
             iso(expires_at) AS expires_at, expires_at <= now() AS expired,
             (SELECT coalesce(json_agg(json_build_object('client_id', known.public_id, 'role', entry.role)
                       ORDER BY known.created_at, known.id), '[]')
                FROM jsonb_to_recordset(operator_invitations.clients) AS entry (id text, role text)
                JOIN clients AS known ON known.id = entry.id::uuid) AS clients
        FROM operator_invitations ORDER BY email`;
    const secrets = await tx<SecretColumns[]>`
      SELECT coalesce(secret.id, clients.id) AS id, secret.id IS NOT NULL AS is_secret, clients.name, public_id,
             label, last_four, access, org_id, iso(coalesce(secret.created_at, clients.created_at)) AS created_at,
             created_by, iso(last_used_at) AS last_used_at, iso(expires_at) AS expires_at,
             coalesce(expires_at <= now(), false) AS expired
        FROM clients LEFT JOIN client_secrets AS secret ON secret.client_id = clients.id AND revoked_at IS NULL
       ORDER BY clients.created_at, clients.id, secret.id`;
    return [...operators.map(toOperatorRow), ...invitations.map(toInvitationRow), ...secrets.map(toSecretRow)];
  });
}

type OperatorColumns = Pick<
  AccessRow,
  'id' | 'name' | 'created_at' | 'invited_at' | 'last_sign_in_at' | 'last_used_at'
> & {
  email: string;
  disabled: boolean;
  inactive: boolean;
  single_sign_on: boolean;
  password: boolean;
  totp: boolean;
  passkey: boolean;
  invited_by: string | null;
};

function toOperatorRow(row: Access & Rights & OperatorColumns): AccessRow {
  const { id, name, email, disabled, inactive, created_at, invited_by, invited_at } = row;
  const { single_sign_on, password, passkey, totp } = row;
  const status = inactive ? 'inactive' : disabled ? 'disabled' : 'active';
  return {
    ...{ id, kind: 'operator', name, account: email, label: null, status, rights: listRights(row) },
    sign_in: [
      ...(password ? (['password'] as const) : []),
      ...(passkey ? (['passkey'] as const) : []),
      ...(single_sign_on ? (['single_sign_on'] as const) : []),
    ],
    second_factor: [
      ...(passkey ? (['passkey'] as const) : []),
      ...(totp ? (['authenticator_app'] as const) : []),
      ...(single_sign_on ? (['identity_provider'] as const) : []),
    ],
    ...{ created_at, created_by: invited_by, invited_at },
    ...{ last_sign_in_at: row.last_sign_in_at, last_used_at: row.last_used_at, expires_at: null },
  };
}

type InvitationColumns = Pick<AccessRow, 'id' | 'created_at' | 'expires_at'> & {
  email: string;
  invited_by: string;
  expired: boolean;
};

function toInvitationRow(row: Access & Rights & InvitationColumns): AccessRow {
  const { id, email, invited_by, created_at, expires_at, expired } = row;
  return {
    ...{ id, kind: 'invitation', name: '', account: email, label: null, status: expired ? 'expired' : 'active' },
    ...{ rights: listRights(row), sign_in: [], second_factor: [], created_at, created_by: invited_by },
    ...{ invited_at: created_at, last_sign_in_at: null, last_used_at: null, expires_at },
  };
}

type SecretColumns = Pick<AccessRow, 'id' | 'name' | 'created_at' | 'created_by' | 'last_used_at' | 'expires_at'> & {
  is_secret: boolean;
  public_id: string;
  label: string | null;
  last_four: string | null;
  access: string | null;
  org_id: string | null;
  expired: boolean;
};

function toSecretRow(row: SecretColumns): AccessRow {
  const { id, is_secret, name, public_id, label, last_four, access, org_id, expired } = row;
  const { created_at, created_by, last_used_at, expires_at } = row;
  const named = [label, last_four && `…${last_four}`].filter(Boolean).join(' ');
  const rights = [access, org_id === null ? null : `only organization ${org_id}`].filter((each) => each !== null);
  return {
    ...{ id, kind: is_secret ? 'client_secret' : 'client', name, account: public_id, label: named || null },
    ...{ status: expired ? 'expired' : 'active', rights, sign_in: [], second_factor: [] },
    ...{ created_at, created_by, invited_at: null, last_sign_in_at: null, last_used_at, expires_at },
  };
}

function listRights({
  role,
  all_clients,
  clients,
  may_reveal,
  may_see_disclosures,
  may_hold,
}: Access & Rights): string[] {
  return [
    ...(all_clients ? [`${role} in all clients`] : []),
    ...clients.map((each) => `${each.role} in ${each.client_id}`),
    ...(may_reveal ? ['can reveal patient details'] : []),
    ...(may_see_disclosures ? ['can see disclosures'] : []),
    ...(may_hold ? ['can place and lift legal holds'] : []),
  ];
}

const columns = [
  ...['kind', 'name', 'account', 'label', 'status', 'rights', 'sign_in', 'second_factor', 'created_at', 'created_by'],
  ...['invited_at', 'last_sign_in_at', 'last_used_at', 'expires_at'],
] as readonly Exclude<keyof AccessRow, 'id'>[];

/** The report as CSV, with a column for what a review has decided about each row. */
export function toCsv(rows: readonly AccessRow[], decisions: Readonly<Record<string, string>> = {}): string {
  const lines = rows.map((row) => [
    ...columns.map((name) => [row[name] ?? ''].flat().join('; ')),
    decisions[row.id] ?? '',
  ]);
  return [[...columns, 'decision'], ...lines].map(csvLine).join('');
}
