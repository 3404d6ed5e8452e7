import { randomBytes } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { loadConfig } from '../../src/catalog/settings/config.ts';
import type { EventOf } from '../../src/model/events.ts';
import { connect, openDatabase, type Sql } from '../../src/platform/db/database.ts';
import { claimLeases, type Lease } from '../../src/platform/db/lease.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { createNotifications } from '../../src/platform/db/notifications.ts';
import { roleAddresses } from '../../src/platform/db/roles.ts';
import { checkMasterKey } from '../../src/platform/security/keys.ts';
import { identified, loadSystemKeys } from '../../src/platform/security/masterKeys.ts';
import { createOutbound } from '../../src/platform/security/outbound.ts';
import { createVault } from '../../src/platform/security/vault.ts';
import { createLog } from '../../src/platform/telemetry/log.ts';
import { createMetrics } from '../../src/platform/telemetry/metrics.ts';
import { telemetry_off } from '../../src/platform/telemetry/telemetry.ts';
import { openAudit } from '../../src/product/audit/openAudit.ts';
import { deliver } from '../../src/product/webhooks/deliver.ts';
import { emitEvent } from '../../src/product/webhooks/events.ts';
import { addEndpoint, type EndpointFields } from '../../src/product/webhooks/registration.ts';
import { freshDatabase, template } from '../harness/postgres.ts';
import { type Receiver, type Responder, startReceiver } from '../harness/servers/receiver.ts';
import { createTenant, type Tenant } from '../harness/tenant.ts';

export type Fixture = Awaited<ReturnType<typeof createFixture>>;

export const synced: EventOf = { type: 'sync.completed', data: { org_id: 'clinic', records: { patients: 3 } } };

/** A migrated database with one tenant, and the real dependencies of a delivery. */
export async function createFixture() {
  const migrated = await template('webhooks', migrate);
  const database = await freshDatabase('webhooks', migrated);
  const owner: Sql = connect(database.address, { max: 4 });
  const openConnections = () => openDatabase(roleAddresses(database.address), 6);
  const db = openConnections();
  const lines: string[] = [];
  const master = { current: identified(randomBytes(32)) };
  await checkMasterKey(db.system, master);
  const system_keys = await loadSystemKeys(db.system, master);
  const audit = await openAudit(db, system_keys);
  const ctx = {
    audit,
    system_keys,
    config: loadConfig({ SANDBOX: 'on' }),
    log: createLog('trace', { write: (line) => void lines.push(line) }),
    metrics: createMetrics(),
    telemetry: telemetry_off,
    vault: createVault(master),
    notifications: createNotifications(db, () => {}),
    webhook_outbound: createOutbound({ sandbox: true, allow: [] }),
    db,
  };
  const tenant = await createTenant(owner);
  return {
    ctx,
    db,
    owner,
    lines,
    tenant,
    /** The connections of another process. */
    openConnections,
    close: async () => {
      await audit.close();
      await Promise.all([db.close(), owner.end(), ctx.webhook_outbound.close()]);
      await database.drop();
    },
  };
}

/** A receiver for one test, registered as an endpoint of the tenant. */
export async function startEndpoint(
  fixture: Fixture,
  respond?: Responder,
  options: Omit<EndpointFields, 'url'> = {},
  tenant: Tenant = fixture.tenant,
): Promise<{ receiver: Receiver; id: string; secret: string }> {
  const receiver = await startReceiver(respond);
  onTestFinished(receiver.close);
  const added = await fixture.db.tenant(tenant.client_id, (tx) =>
    addEndpoint(fixture.ctx, tx, tenant.client_id, { url: receiver.url, ...options }),
  );
  return { receiver, ...added };
}

export function emit(
  fixture: Fixture,
  event: EventOf = synced,
  tenant: Tenant = fixture.tenant,
  job_id: number | null = null,
) {
  const { client_id, account_id } = tenant;
  return fixture.db.tenant(client_id, (tx) => emitEvent(tx, { client_id, account_id, job_id, event }));
}

/** Claims deliveries that are due, as the worker does. */
export function claim(fixture: Fixture, count = 10): Promise<Lease[]> {
  return claimLeases(fixture.db.system, 'deliveries', { owner: 'test', count, lease_ms: 60_000 });
}

/** Attempts every delivery that is due once. */
export async function deliverDue(fixture: Fixture, options: Parameters<typeof deliver>[3] = {}): Promise<number> {
  const leases = await claim(fixture);
  await Promise.all(leases.map((lease) => deliver(fixture.ctx, lease, new AbortController().signal, options)));
  return leases.length;
}

/** Makes every pending delivery due now. */
export async function makeDue(fixture: Fixture): Promise<void> {
  await fixture.owner`UPDATE deliveries SET ready_at = clock_timestamp() WHERE ready_at IS NOT NULL`;
}

export async function insertJob(fixture: Fixture, tenant: Tenant = fixture.tenant): Promise<number> {
  const { client_id, organization_id, account_id } = tenant;
  const [job] = await fixture.owner<{ id: number }[]>`
    WITH operation AS (
      INSERT INTO operations (id, client_id, organization_id, account_id, type, input)
      VALUES (gen_random_uuid(), ${client_id}, ${organization_id}, ${account_id}, 'sync', '{}') RETURNING id)
    INSERT INTO jobs (client_id, organization_id, account_id, operation_id, type, lane)
      SELECT ${client_id}, ${organization_id}, ${account_id}, id, 'sync', 'lane' FROM operation RETURNING id`;
  if (!job) throw new Error('The job was not inserted.');
  return job.id;
}

export async function readStatus(fixture: Fixture, event_id: string): Promise<string | null | undefined> {
  const [row] = await fixture.owner<{ delivery_status: string | null }[]>`
    SELECT delivery_status FROM events WHERE id = ${event_id}`;
  return row?.delivery_status;
}

export async function readDeliveries(fixture: Fixture, event_id: string) {
  return fixture.owner<
    {
      id: string;
      endpoint_id: string;
      status: string;
      attempts: number;
      ready: boolean;
      in_ms: number;
      gap_ms: number;
      free: boolean;
    }[]
  >`SELECT id, endpoint_id, status, attempts, ready_at IS NOT NULL AS ready, locked_until IS NULL AS free,
      extract(epoch FROM ready_at - clock_timestamp())::float8 * 1000 AS in_ms,
      extract(epoch FROM ready_at - (SELECT max(at) FROM delivery_attempts WHERE delivery_id = deliveries.id))::float8
        * 1000 AS gap_ms
      FROM deliveries WHERE event_id = ${event_id} ORDER BY created_at, endpoint_id`;
}

export async function readAttempts(fixture: Fixture, event_id: string) {
  return fixture.owner<{ attempt: number; status_code: number | null; problem: string | null; duration_ms: number }[]>`
    SELECT attempt, status_code, problem, duration_ms FROM delivery_attempts
     WHERE delivery_id IN (SELECT id FROM deliveries WHERE event_id = ${event_id}) ORDER BY delivery_id, attempt`;
}
