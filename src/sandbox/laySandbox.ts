import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Secret, TOTP } from 'otpauth';
import { bindings, readAccount } from '../accounts/accounts.ts';
import { addSecret, authenticateClient, type Client, createClient } from '../clients/clients.ts';
import { ensureSandboxOwner, newPassword } from '../clients/createOperator.ts';
import type { AuditEntry, Context } from '../context.ts';
import { completeLink, signInForLink } from '../link/completeLink.ts';
import { createLinkToken } from '../link/createLinkToken.ts';

/** What the Larkspur EMR says of itself when it starts. */
export type LarkspurFacts = {
  url: string;
  control_token: string;
  staff: { username: string; password: string; totp_secret: string; role: string }[];
  example: Record<'patient_mrn' | 'provider_id' | 'location_id' | 'assigned_to_id' | 'pharmacy_ehr_id', string>;
};

/** `<DATA_DIR>/sandbox.json`: everything a newcomer, or a customer's test run, needs to begin. */
export type Sandbox = {
  base_url: string;
  client_id: string;
  client_secret: string;
  access_token: string;
  access_token_reference_id: string;
  org_id: string;
  user_id: string;
  link_script_url: string;
  docs_url: string;
  dashboard: { url: string; email: string; password: string };
  example: LarkspurFacts['example'];
  larkspur: Omit<LarkspurFacts, 'example'>;
};

const names = {
  client: 'Sandbox',
  org_id: 'sandbox-practice',
  user_id: 'sandbox-user',
  email: 'owner@sandbox.example',
};

/** Where `examples/lightbox` takes people back to from the hosted page. */
const callback_urls = ['http://127.0.0.1:4200/callback', 'http://localhost:4200/callback'];

/**
 * Makes sure that a client, an operator and an account linked to Larkspur exist, and writes sandbox.json anew. What
 * was there before is kept; a secret that can be read nowhere any more is replaced.
 */
export async function laySandbox(ctx: Context, base_url: string, larkspur: LarkspurFacts): Promise<Sandbox> {
  const file = join(ctx.config.data_dir, 'sandbox.json');
  const before = await readBefore(file);
  const { client, client_secret } = await keepClient(ctx, before);
  const { access_token, reference_id } = await keepAccount(ctx, client, larkspur);
  const password = before.dashboard?.password ?? newPassword();
  await ensureSandboxOwner(ctx, names.email, password);
  const { example, ...emr } = larkspur;
  const sandbox: Sandbox = {
    base_url,
    client_id: client.public_id,
    client_secret,
    access_token,
    access_token_reference_id: reference_id,
    org_id: names.org_id,
    user_id: names.user_id,
    link_script_url: `${base_url}/link/v1/link.js`,
    docs_url: `${base_url}/docs`,
    dashboard: { url: `${base_url}/dashboard`, email: names.email, password },
    example,
    larkspur: emr,
  };
  // Written beside and moved over it: a reader never finds half a file.
  await writeFile(`${file}.new`, `${JSON.stringify(sandbox, null, 2)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  return sandbox;
}

async function readBefore(file: string): Promise<Partial<Sandbox>> {
  try {
    // A file of ours from an earlier start; what does not fit it any more fails the checks below and is replaced.
    return JSON.parse(await readFile(file, 'utf8')) as Partial<Sandbox>;
  } catch {
    return {};
  }
}

async function keepClient(ctx: Context, before: Partial<Sandbox>): Promise<{ client: Client; client_secret: string }> {
  const known = await authenticateClient(ctx, before.client_id, before.client_secret);
  if (known && before.client_secret) return { client: known, client_secret: before.client_secret };
  const [row] = await ctx.db.system<Client[]>`
    SELECT id, public_id, name, mode, callback_urls FROM clients
     WHERE name = ${names.client} AND mode = 'test' ORDER BY id LIMIT 1`;
  if (row) {
    const client_secret = await ctx.db.tenant(row.id, async (tx) => {
      await ctx.audit.recordInTransaction(tx, actOf(row.id, 'client.add_secret', row.public_id));
      return addSecret(tx, row.id, 'test');
    });
    return { client: row, client_secret };
  }
  const looks = { name: names.client, mode: 'test', callback_urls, colour: '#0b5a6e' } as const;
  const made = await createClient(ctx.db, looks, (tx, { id, client_id }) =>
    ctx.audit.recordInTransaction(tx, actOf(id, 'client.create', client_id)),
  );
  const client: Client = {
    id: made.id,
    public_id: made.client_id,
    name: names.client,
    mode: 'test',
    callback_urls,
  };
  return { client, client_secret: made.client_secret };
}

function actOf(client_id: string, action: string, subject: string): AuditEntry {
  return { client_id, actor_kind: 'system', actor: 'sandbox', action, outcome: 'done', subject };
}

/** The account of the practice's first staff member, linked by a real sign-in. Its address follows Larkspur's port. */
async function keepAccount(ctx: Context, client: Client, larkspur: LarkspurFacts) {
  const find = () =>
    ctx.db.tenant(client.id, async (tx) => {
      await tx`UPDATE organizations SET emr_address = ${larkspur.url} WHERE org_id = ${names.org_id}`;
      const [row] = await tx<{ id: string }[]>`SELECT accounts.id FROM accounts
        JOIN organizations ON organizations.id = organization_id
        WHERE org_id = ${names.org_id} AND user_id = ${names.user_id}`;
      const account = row && (await readAccount(tx, row.id));
      if (!account) return undefined;
      const access_token = await ctx.vault.unseal(tx, account.token_sealed, bindings.token(account.id));
      return { access_token, reference_id: account.reference_id };
    });
  const known = await find();
  if (known) return known;
  await link(ctx, client, larkspur);
  const linked = await find();
  if (!linked) throw new Error('The sandbox account was linked but is not there.');
  return linked;
}

async function link(ctx: Context, client: Client, larkspur: LarkspurFacts): Promise<void> {
  const [person] = larkspur.staff;
  if (!person) throw new Error('Larkspur has no staff.');
  const link_token = await ctx.db.tenant(client.id, (tx) =>
    createLinkToken(ctx, tx, client, {
      user_id: names.user_id,
      org_id: names.org_id,
      emr_name: 'larkspur',
      emr_instance_domain: larkspur.url,
    }),
  );
  const signed_in = await signInForLink(ctx, client.id, link_token, {
    credentials: { username: person.username, password: person.password },
    one_time_code: new TOTP({ secret: Secret.fromBase32(person.totp_secret) }).generate(),
  });
  await ctx.db.tenant(client.id, (tx) => completeLink(ctx, tx, link_token, signed_in));
}
