import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Secret, TOTP } from 'otpauth';
import { bindings, findAccountByToken, readAccount } from '../../product/accounts/accounts.ts';
import { setEmrAddress } from '../../product/accounts/organizations.ts';
import { type Client, createClient, findOwnClient } from '../../product/clients/clients.ts';
import { addSecret } from '../../product/clients/secrets.ts';
import type { AuditEntry, Context } from '../../product/context.ts';
import { createLinkToken } from '../../product/link/linkTokens.ts';
import { completeLink, signInForLink } from '../../product/link/publicTokens.ts';
import { ensureSandboxOwner, newPassword } from '../../product/operators/localAccounts.ts';

/** What Larkspur reports when it starts. */
export type LarkspurFacts = {
  url: string;
  control_token: string;
  staff: { username: string; password: string; totp_secret: string; role: string }[];
  example: Record<'patient_mrn' | 'provider_id' | 'location_id' | 'assigned_to_id' | 'pharmacy_ehr_id', string>;
};

/** The content of `<DATA_DIR>/sandbox.json`: everything a new user or a test suite needs to get started. */
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

/** The callback URLs of `examples/lightbox`. */
const callback_urls = ['http://127.0.0.1:4200/callback', 'http://localhost:4200/callback'];

/**
 * Ensures that a client, an operator and an account linked to Larkspur exist, and rewrites sandbox.json. Existing ones
 * are kept. A client secret that is no longer in sandbox.json is replaced, because only its hash is stored.
 */
export async function seedSandbox(ctx: Context, base_url: string, larkspur: LarkspurFacts): Promise<Sandbox> {
  const file = join(ctx.config.data_dir, 'sandbox.json');
  const previous = await readPrevious(file);
  const { client, client_secret } = await ensureClient(ctx, previous);
  const { access_token, reference_id } = await ensureAccount(ctx, client, larkspur);
  const password = previous.dashboard?.password ?? newPassword();
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
  // Written to a temporary file and renamed, so that a reader never sees a partial file.
  await writeFile(`${file}.new`, `${JSON.stringify(sandbox, null, 2)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  return sandbox;
}

const sync_timeout_ms = 20_000;

/** Waits for the first sync, so that the first write finds its provider and the first list is complete. */
export async function waitForFirstSync(ctx: Context, access_token: string): Promise<void> {
  const account = await findAccountByToken(ctx, access_token);
  const deadline = Date.now() + sync_timeout_ms;
  while (account?.status === 'active' && Date.now() < deadline) {
    const [row] = await ctx.db.read<{ done: boolean }>(
      account.client_id,
      (sql) => sql`SELECT synced_at IS NOT NULL AS done FROM organizations WHERE id = ${account.organization_id}`,
    );
    if (row?.done) return;
    await pause(50);
  }
}

/** What the running sandbox wrote, for endpoints. Undefined before it has started. */
export async function readSandbox({ config }: Pick<Context, 'config'>): Promise<Sandbox | undefined> {
  const stored = await readPrevious(join(config.data_dir, 'sandbox.json'));
  return stored.larkspur ? (stored as Sandbox) : undefined;
}

async function readPrevious(file: string): Promise<Partial<Sandbox>> {
  try {
    // Written by an earlier start. Values that are no longer valid fail the checks below and are replaced.
    return JSON.parse(await readFile(file, 'utf8')) as Partial<Sandbox>;
  } catch {
    return {};
  }
}

const secret_note = { created_by: 'sandbox' };

async function ensureClient(
  ctx: Context,
  previous: Partial<Sandbox>,
): Promise<{ client: Client; client_secret: string }> {
  const existing = await findOwnClient(ctx, previous.client_id, previous.client_secret);
  if (existing && previous.client_secret) return { client: existing, client_secret: previous.client_secret };
  const [row] = await ctx.db.system<Client[]>`
    SELECT id, public_id, name, mode, callback_urls FROM clients
     WHERE name = ${names.client} AND mode = 'test' ORDER BY id LIMIT 1`;
  if (row) {
    const client_secret = await ctx.db.tenant(row.id, async (tx) => {
      await ctx.audit.recordInTransaction(tx, auditEntry(row.id, 'client.add_secret', row.public_id));
      return addSecret(tx, row.id, 'test', secret_note);
    });
    return { client: row, client_secret };
  }
  const settings = { name: names.client, mode: 'test', callback_urls, colour: '#0b5a6e' } as const;
  const created = await createClient(
    ctx.db,
    settings,
    (tx, { id, client_id }) => ctx.audit.recordInTransaction(tx, auditEntry(id, 'client.create', client_id)),
    secret_note,
  );
  const client: Client = {
    id: created.id,
    public_id: created.client_id,
    name: names.client,
    mode: 'test',
    callback_urls,
  };
  return { client, client_secret: created.client_secret };
}

function auditEntry(client_id: string, action: string, subject: string): AuditEntry {
  return { client_id, actor_kind: 'system', actor: 'sandbox', action, outcome: 'done', subject };
}

/** Links the practice's first staff member by a real sign-in. The EMR address is updated, because Larkspur's port may change. */
async function ensureAccount(ctx: Context, client: Client, larkspur: LarkspurFacts) {
  const find = () =>
    ctx.db.tenant(client.id, async (tx) => {
      await setEmrAddress(tx, names.org_id, larkspur.url);
      const [row] = await tx<{ id: string }[]>`SELECT accounts.id FROM accounts
        JOIN organizations ON organizations.id = organization_id
        WHERE org_id = ${names.org_id} AND user_id = ${names.user_id}`;
      const account = row && (await readAccount(tx, row.id));
      if (!account || account.status === 'revoked') return undefined;
      const access_token = await ctx.vault.unseal(tx, account.token_sealed, bindings.token(account.id));
      return { access_token, reference_id: account.reference_id };
    });
  const existing = await find();
  if (existing) return existing;
  await link(ctx, client, larkspur);
  const linked = await find();
  if (!linked) throw new Error('The sandbox account was linked but cannot be found.');
  return linked;
}

async function link(ctx: Context, client: Client, larkspur: LarkspurFacts): Promise<void> {
  const [person] = larkspur.staff;
  if (!person) throw new Error('Larkspur has no staff.');
  const link_token = await ctx.db.tenant(client.id, (tx) =>
    createLinkToken(ctx, tx, {
      client,
      request: {
        user_id: names.user_id,
        org_id: names.org_id,
        emr_name: 'larkspur',
        emr_instance_domain: larkspur.url,
      },
    }),
  );
  const signed_in = await signInForLink(ctx, client.id, link_token, {
    credentials: { username: person.username, password: person.password },
    one_time_code: new TOTP({ secret: Secret.fromBase32(person.totp_secret) }).generate(),
  });
  await ctx.db.tenant(client.id, (tx) => completeLink(ctx, tx, link_token, signed_in));
}

/** The content of sandbox.json. Undefined if it is damaged, or if another version of the service wrote it. */
export function parseSandbox(text: string): Sandbox | undefined {
  try {
    const sandbox: Partial<Sandbox> = JSON.parse(text);
    const { base_url, larkspur, example } = sandbox;
    // Written in one piece: a file with these parts has the others too.
    return base_url && larkspur?.url && example ? (sandbox as Sandbox) : undefined;
  } catch {
    return undefined;
  }
}

/** The names of the pages that `chartwire open` knows. */
export const page_names = ['dashboard', 'docs', 'larkspur'] as const;

/** Their addresses. */
export function listPages(base_url: string, sandbox: Sandbox | undefined): Map<string, string> {
  const own = base_url.replace(/\/+$/, '');
  const pages = new Map([
    ['dashboard', `${own}/dashboard`],
    ['docs', `${own}/docs`],
  ]);
  if (sandbox) pages.set('larkspur', sandbox.larkspur.url);
  return pages;
}
