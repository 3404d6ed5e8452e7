import { randomBytes } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { connect, openDatabase, type Sql } from '../../src/db/database.ts';
import { claimLeases, type Lease } from '../../src/db/lease.ts';
import { migrate } from '../../src/db/migrate.ts';
import { openNotifications } from '../../src/db/notifications.ts';
import { roleAddresses } from '../../src/db/roles.ts';
import type { EventOf } from '../../src/events.ts';
import { openLog } from '../../src/log.ts';
import { openMetrics } from '../../src/metrics.ts';
import { identified } from '../../src/security/masterKeys.ts';
import { createOutbound } from '../../src/security/outbound.ts';
import { openVault } from '../../src/security/vault.ts';
import { addEndpoint, type NewEndpoint } from '../../src/webhooks/addEndpoint.ts';
import { deliver } from '../../src/webhooks/deliver.ts';
import { emitEvent } from '../../src/webhooks/emitEvent.ts';
import { freshDatabase, template } from '../harness/postgres.ts';
import { type Answer, type Receiver, startReceiver } from '../harness/receiver.ts';
import { layTenant, type Tenant } from '../harness/tenant.ts';

export type World = Awaited<ReturnType<typeof layWorld>>;

export const synced: EventOf = { type: 'sync.completed', data: { org_id: 'clinic', records: { patients: 3 } } };

/** A migrated database with one tenant, and everything that a delivery needs, all of it real. */
export async function layWorld() {
  const laid = await template('webhooks', migrate);
  const database = await freshDatabase('webhooks', laid);
  const owner: Sql = connect(database.address, { max: 4 });
  const db = openDatabase(roleAddresses(database.address), 6);
  const lines: string[] = [];
  const ctx = {
    config: loadConfig({ SANDBOX: 'on' }),
    log: openLog('trace', { write: (line) => void lines.push(line) }),
    metrics: openMetrics(),
    vault: openVault({ current: identified(randomBytes(32)) }),
    notifications: openNotifications(db, () => {}),
    outbound: createOutbound({ sandbox: true, allow: [] }),
    db,
  };
  const tenant = await layTenant(owner);
  return {
    ctx,
    db,
    owner,
    lines,
    tenant,
    close: async () => {
      await Promise.all([db.close(), owner.end(), ctx.outbound.close()]);
      await database.drop();
    },
  };
}

/** A receiver for one test, registered as an endpoint of the tenant. */
export async function receive(
  world: World,
  answer?: Answer,
  wanted: Omit<NewEndpoint, 'url'> = {},
  tenant: Tenant = world.tenant,
): Promise<{ receiver: Receiver; id: string; secret: string }> {
  const receiver = await startReceiver(answer);
  onTestFinished(receiver.close);
  const added = await world.db.tenant(tenant.client_id, (tx) =>
    addEndpoint(world.ctx, tx, tenant.client_id, { url: receiver.url, ...wanted }),
  );
  return { receiver, ...added };
}

export function emit(
  world: World,
  event: EventOf = synced,
  tenant: Tenant = world.tenant,
  job_id: number | null = null,
) {
  const { client_id, account_id } = tenant;
  return world.db.tenant(client_id, (tx) => emitEvent(tx, { client_id, account_id, job_id, event }));
}

/** Claims what is ready, as the worker does. */
export function claim(world: World, count = 10): Promise<Lease[]> {
  return claimLeases(world.db.system, 'deliveries', { owner: 'test', count, lease_ms: 60_000 });
}

/** Makes one try of everything that is ready. */
export async function drain(world: World, options: Parameters<typeof deliver>[3] = {}): Promise<number> {
  const leases = await claim(world);
  await Promise.all(leases.map((lease) => deliver(world.ctx, lease, new AbortController().signal, options)));
  return leases.length;
}

/** Moves time: what waits for its next try is ready now. */
export async function hurry(world: World): Promise<void> {
  await world.owner`UPDATE deliveries SET ready_at = clock_timestamp() WHERE ready_at IS NOT NULL`;
}

export async function jobOf(world: World, tenant: Tenant = world.tenant): Promise<number> {
  const { client_id, organization_id, account_id } = tenant;
  const [job] = await world.owner<{ id: number }[]>`
    WITH operation AS (
      INSERT INTO operations (id, client_id, organization_id, account_id, type, input)
      VALUES (gen_random_uuid(), ${client_id}, ${organization_id}, ${account_id}, 'sync', '{}') RETURNING id)
    INSERT INTO jobs (client_id, organization_id, account_id, operation_id, type, lane)
      SELECT ${client_id}, ${organization_id}, ${account_id}, id, 'sync', 'lane' FROM operation RETURNING id`;
  if (!job) throw new Error('no job');
  return job.id;
}

export async function statusOf(world: World, event_id: string): Promise<string | null | undefined> {
  const [row] = await world.owner<{ delivery_status: string | null }[]>`
    SELECT delivery_status FROM events WHERE id = ${event_id}`;
  return row?.delivery_status;
}

export async function deliveriesOf(world: World, event_id: string) {
  return world.owner<
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

export async function attemptsOf(world: World, event_id: string) {
  return world.owner<{ attempt: number; status_code: number | null; problem: string | null; duration_ms: number }[]>`
    SELECT attempt, status_code, problem, duration_ms FROM delivery_attempts
     WHERE delivery_id IN (SELECT id FROM deliveries WHERE event_id = ${event_id}) ORDER BY delivery_id, attempt`;
}
