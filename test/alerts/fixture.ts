import { randomBytes } from 'node:crypto';
import { loadConfig } from '../../src/catalog/settings/config.ts';
import { connect, openDatabase, type Sql } from '../../src/platform/db/database.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { roleAddresses } from '../../src/platform/db/roles.ts';
import { identified, loadSystemKeys } from '../../src/platform/security/masterKeys.ts';
import { createOutbound } from '../../src/platform/security/outbound.ts';
import { createLog } from '../../src/platform/telemetry/log.ts';
import { sendMessages } from '../../src/product/alerts/channels.ts';
import { evaluateAlerts } from '../../src/product/alerts/evaluateAlerts.ts';
import { freshDatabase, template } from '../harness/postgres.ts';
import { createTenant, type Tenant } from '../harness/tenant.ts';

export type AlertFixture = Awaited<ReturnType<typeof createFixture>>;

export const webhook_secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

/** The settings of both channels. */
export function channelSettings(channels: { smtp_url?: string; webhook_url?: string }): Record<string, string> {
  return {
    ...(channels.smtp_url && {
      ALERT_SMTP_URL: channels.smtp_url,
      ALERT_EMAIL_FROM: 'chartwire@example.org',
      ALERT_EMAIL_TO: 'oncall@example.org,support@example.org',
    }),
    ...(channels.webhook_url && { ALERT_WEBHOOK_URL: channels.webhook_url, ALERT_WEBHOOK_SECRET: webhook_secret }),
  };
}

/** A migrated database with one tenant, and processes that share it, each with its own settings and clock. */
export async function createFixture() {
  const database = await freshDatabase('alerts', await template('webhooks', migrate));
  const owner: Sql = connect(database.address, { max: 4 });
  const opened: { close(): Promise<unknown> }[] = [];
  const lines: string[] = [];
  const tenant = await createTenant(owner, { org_id: 'clinic-1', user_id: 'user-1' });
  // A worker, without which an alert would be open in every test.
  await owner`INSERT INTO processes (id, role, host, version, working, seen_at)
    VALUES (gen_random_uuid(), 'worker', 'test', '0', true, 'infinity')`;

  const own_keys = openDatabase(roleAddresses(database.address), 1);
  const system_keys = await loadSystemKeys(own_keys.system, { current: identified(randomBytes(32)) });
  await own_keys.close();

  const startProcess = (env: Record<string, string>) => {
    const db = openDatabase(roleAddresses(database.address), 4);
    const webhook_outbound = createOutbound({ sandbox: true, allow: [] });
    opened.push(db, webhook_outbound);
    const ctx = {
      config: loadConfig({ SANDBOX: 'on', ...env }),
      base_url: 'https://chartwire.example.org',
      log: createLog('trace', { write: (line) => void lines.push(line) }),
      db,
      system_keys,
      webhook_outbound,
    };
    return {
      ctx,
      evaluate: (at: string) => evaluateAlerts(ctx, new Date(at)),
      send: (at: string) => sendMessages(ctx, () => new Date(at)),
      /** Evaluates and sends, as the scheduled tasks do. */
      tick: async (at: string) => {
        await evaluateAlerts(ctx, new Date(at));
        await sendMessages(ctx, () => new Date(at));
      },
    };
  };
  return {
    owner,
    tenant,
    lines,
    startProcess,
    /** Marks an account as one that must be re-linked, or as linked. */
    setLoginRequired: (required = true, account_id = tenant.account_id) =>
      owner`UPDATE accounts SET status = ${required ? 'login_required' : 'active'} WHERE id = ${account_id}`,
    addAccount: (user_id: string): Promise<Tenant> => createTenant(owner, { ...own(tenant), user_id }),
    setReviews: (count: number) => insertReviews(owner, tenant, count),
    /** Forgets everything that a test left behind. */
    reset: async () => {
      await owner`TRUNCATE alerts, alert_messages`;
      await owner`UPDATE accounts SET status = 'active'`;
      await owner`DELETE FROM jobs`;
      lines.length = 0;
    },
    close: async () => {
      await Promise.all([...opened.map((each) => each.close()), owner.end()]);
      await database.drop();
    },
  };
}

function own({ client_id, organization_id }: Tenant) {
  return { client_id, organization_id };
}

/** Adds jobs whose outcome is unknown. */
async function insertReviews(owner: Sql, tenant: Tenant, count: number): Promise<void> {
  const { client_id, organization_id, account_id } = tenant;
  await owner`
    WITH operation AS (
      INSERT INTO operations (id, client_id, organization_id, account_id, type, input)
      SELECT gen_random_uuid(), ${client_id}, ${organization_id}, ${account_id}, 'sync', '{}'
        FROM generate_series(1, ${count}) RETURNING id)
    INSERT INTO jobs (client_id, organization_id, account_id, operation_id, type, lane, state, finished_at)
      SELECT ${client_id}, ${organization_id}, ${account_id}, id, 'sync', 'lane', 'needs_review', now() FROM operation`;
}

/** Alerts in the database, oldest first. */
export function storedAlerts(owner: Sql) {
  return owner<{ code: string; open: boolean; notified: boolean }[]>`
    SELECT code, resolved_at IS NULL AS open, notified_at IS NOT NULL AS notified FROM alerts ORDER BY opened_at, code`;
}
