import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { EventOf } from '../../src/events.ts';
import { deliver } from '../../src/webhooks/deliver.ts';
import { retry_delays_ms } from '../../src/webhooks/retrySchedule.ts';
import { rotateSecret } from '../../src/webhooks/rotateSecret.ts';
import { stop_reasons } from '../../src/worker/worker.ts';
import { answering, type Received, startReceiver } from '../harness/receiver.ts';
import { layTenant } from '../harness/tenant.ts';
import {
  attemptsOf,
  claim,
  deliveriesOf,
  drain,
  emit,
  hurry,
  layWorld,
  receive,
  statusOf,
  type World,
} from './world.ts';

let world: World;
beforeAll(async () => {
  world = await layWorld();
});
beforeEach(async () => {
  // Each test has a tenant of its own, and nothing of the others is left waiting.
  await world.owner`UPDATE deliveries SET ready_at = NULL`;
  world.tenant = await layTenant(world.owner);
});
afterEach(() => {
  vi.useRealTimers();
});
afterAll(() => world.close());

const failed: EventOf = {
  type: 'telephone_encounter.failed',
  data: {
    telephone_encounter_id: 'x',
    patient_mrn: 'MRN-4711',
    refill_medication_name: 'Médicament ☃',
    failure_reason: 'Anna Planted was not found',
  },
};

function verifies({ headers, body }: Received, secret: string): boolean {
  const given = headers as Record<string, string>;
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const content = `${given['webhook-id']}.${given['webhook-timestamp']}.${body}`;
  const byHand = `v1,${createHmac('sha256', key).update(content).digest('base64')}`;
  const stated = given['webhook-signature']?.split(' ').includes(byHand);
  try {
    new Webhook(secret).verify(body, given);
  } catch {
    if (stated) throw new Error('standardwebhooks and the check by hand disagree');
    return false;
  }
  if (!stated) throw new Error('standardwebhooks and the check by hand disagree');
  return true;
}

async function failingSince(endpoint_id: string): Promise<{ failing: boolean; status: string; why: string | null }> {
  const [row] = await world.owner<{ failing: boolean; status: string; why: string | null }[]>`
    SELECT failing_since IS NOT NULL AS failing, status, disabled_reason AS why FROM webhook_endpoints
     WHERE id = ${endpoint_id}`;
  if (!row) throw new Error('no endpoint');
  return row;
}

describe('a try', () => {
  it('sends the stored bytes, signed, and marks the delivery and its event as successful', async () => {
    const { receiver, secret } = await receive(world);
    const id = await emit(world, failed);
    const before_s = Math.floor(Date.now() / 1000);
    expect(await drain(world)).toBe(1);
    const [got] = receiver.received;
    if (!got) throw new Error('nothing arrived');
    const [stored] = await world.owner<{ body: string }[]>`SELECT body FROM events WHERE id = ${id}`;
    expect(got.body).toBe(stored?.body);
    expect(got.headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'Chartwire',
      'webhook-id': id,
      'webhook-attempt': '1',
      'cobalt-verification': createHmac('sha256', secret).update(got.body).digest('hex'),
    });
    const sent_s = Number(got.headers['webhook-timestamp']);
    expect(sent_s).toBeGreaterThanOrEqual(before_s);
    expect(sent_s).toBeLessThanOrEqual(Date.now() / 1000);
    expect(verifies(got, secret)).toBe(true);
    expect(await deliveriesOf(world, id)).toMatchObject([{ status: 'success', ready: false, free: true, attempts: 1 }]);
    expect(await attemptsOf(world, id)).toMatchObject([{ attempt: 1, status_code: 200, problem: null }]);
    expect(await statusOf(world, id)).toBe('success');
    expect(await drain(world)).toBe(0);
  });

  it('is signed with every live secret after a rotation', async () => {
    const { receiver, id: endpoint_id, secret } = await receive(world);
    const { client_id } = world.tenant;
    const rotated = await world.db.tenant(client_id, (tx) => rotateSecret(world.ctx, tx, client_id, endpoint_id));
    await emit(world);
    await drain(world);
    await world.owner`UPDATE webhook_secrets SET expires_at = now() WHERE expires_at IS NOT NULL`;
    await emit(world);
    await drain(world);
    const [during, after] = receiver.received;
    if (!during || !after || !rotated) throw new Error('nothing arrived');
    expect(verifies(during, secret)).toBe(true);
    expect(verifies(during, rotated.secret)).toBe(true);
    expect(during.headers['cobalt-verification']).toBe(
      createHmac('sha256', rotated.secret).update(during.body).digest('hex'),
    );
    expect(verifies(after, secret)).toBe(false);
    expect(verifies(after, rotated.secret)).toBe(true);
  });

  it.each([
    [500, 'The receiver responded with 500.'],
    [404, 'The receiver responded with 404.'],
    [302, 'The receiver responded with 302; redirects are not followed.'],
  ])('answered %i has failed', async (status, problem) => {
    const elsewhere = await startReceiver();
    const { receiver, id: endpoint_id } = await receive(
      world,
      answering(status, { location: elsewhere.url }, 'MRN-4711'),
    );
    const id = await emit(world, failed);
    await drain(world);
    expect(receiver.received).toHaveLength(1);
    expect(elsewhere.received).toHaveLength(0);
    await elsewhere.close();
    expect(await attemptsOf(world, id)).toMatchObject([{ attempt: 1, status_code: status, problem }]);
    expect(await deliveriesOf(world, id)).toMatchObject([{ status: 'pending', free: true, ready: true, attempts: 1 }]);
    expect(await statusOf(world, id)).toBe('pending');
    expect(await failingSince(endpoint_id)).toMatchObject({ failing: true, status: 'enabled' });
  });

  it('without an answer in time has failed', async () => {
    const { receiver } = await receive(world, () => {});
    const id = await emit(world);
    await drain(world, { timeout_ms: 60 });
    expect(receiver.received).toHaveLength(1);
    const [attempt] = await attemptsOf(world, id);
    expect(attempt).toMatchObject({
      status_code: null,
      problem: expect.stringMatching(/did not respond within 0.06 s/),
    });
    expect(attempt?.duration_ms).toBeGreaterThanOrEqual(55);
  });

  it('that is refused, cut off or sent to a forbidden address has failed', async () => {
    const closed = await receive(world);
    await closed.receiver.close();
    await receive(world, (response) => response.destroy());
    const moved = await receive(world);
    await world.owner`UPDATE webhook_endpoints SET url = 'https://10.0.0.1/' WHERE id = ${moved.id}`;
    const id = await emit(world);
    await drain(world);
    const problems = (await attemptsOf(world, id)).map((attempt) => attempt.problem);
    expect(problems).toHaveLength(3);
    expect(problems).toEqual(
      expect.arrayContaining([
        expect.stringContaining('refused the connection'),
        expect.stringContaining('private or local address'),
        expect.stringContaining('was lost'),
      ]),
    );
    expect(moved.receiver.received).toHaveLength(0);
  });

  it('reads no more than 64 KB of an answer', async () => {
    let written = 0;
    let ended = () => {};
    const hungUp = new Promise<void>((resolve) => {
      ended = resolve;
    });
    await receive(world, (response) => {
      const chunk = Buffer.alloc(16_384, 'x');
      const pour = () => {
        while (!response.destroyed && response.write(chunk)) written += chunk.length;
      };
      response.on('drain', pour).on('close', ended);
      response.writeHead(200);
      pour();
    });
    const id = await emit(world);
    await drain(world);
    await hungUp;
    expect(await statusOf(world, id)).toBe('success');
    // What lies in the buffers of both sockets beyond the 64 KB is bounded by the kernel, not by us.
    expect(written).toBeLessThan(16_000_000);
  });

  it('leaves no health data, address or secret in the log or in the words of a try; what was answered goes with the event', async () => {
    const { secret } = await receive(world, answering(500, {}, 'Anna Planted, MRN-4711'));
    world.lines.length = 0;
    const id = await emit(world, failed);
    await drain(world);
    const kept = world.lines.join('') + JSON.stringify(await attemptsOf(world, id));
    expect(world.lines).toHaveLength(1);
    expect(kept).toContain('telephone_encounter.failed');
    for (const planted of ['Anna', 'MRN-4711', '/hook', secret.slice(6)]) expect(kept).not.toContain(planted);
    const counted = await world.ctx.metrics.registry.getSingleMetricAsString('chartwire_delivery_seconds');
    expect(counted).toContain('outcome="retry"');
    const snippets = () => world.owner`SELECT snippet FROM delivery_attempts WHERE snippet LIKE 'Anna Planted%'`;
    expect(await snippets()).toMatchObject([{ snippet: 'Anna Planted, MRN-4711' }]);
    await world.owner`DELETE FROM events WHERE id = ${id}`;
    expect(await snippets()).toHaveLength(0);
  });
});

describe('the ladder', () => {
  it('tries ten times with the same id, fresh timestamps and valid signatures, then gives up', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-05-01T12:00:00Z') });
    const { receiver, secret, id: endpoint_id } = await receive(world, answering(503));
    const id = await emit(world);
    for (const [at, plain] of [...retry_delays_ms.slice(1), undefined].entries()) {
      expect(await drain(world)).toBe(1);
      expect(verifies(receiver.received[at] as Received, secret)).toBe(true);
      const [delivery] = await deliveriesOf(world, id);
      if (plain === undefined) expect(delivery).toMatchObject({ status: 'failed', ready: false, free: true });
      else {
        // The row of the try is written some milliseconds before the pause begins.
        expect(delivery?.gap_ms).toBeGreaterThanOrEqual(plain * 0.8);
        expect(delivery?.gap_ms).toBeLessThanOrEqual(plain * 1.2 + 200);
        // Not before its time.
        expect(await drain(world)).toBe(0);
        vi.setSystemTime(Date.now() + plain);
        await hurry(world);
      }
    }
    const seen = receiver.received.map(({ headers, body }) => ({ headers, body }));
    expect(seen.map(({ headers }) => headers['webhook-attempt'])).toEqual(
      retry_delays_ms.map((_, at) => String(at + 1)),
    );
    expect(new Set(seen.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([id]));
    expect(new Set(seen.map(({ body }) => body)).size).toBe(1);
    expect(new Set(seen.map(({ headers }) => headers['webhook-timestamp'])).size).toBe(10);
    expect(await attemptsOf(world, id)).toHaveLength(10);
    expect(await statusOf(world, id)).toBe('failed');
    expect((await failingSince(endpoint_id)).status).toBe('enabled');
    await hurry(world);
    expect(await drain(world)).toBe(0);
  });

  it.each([
    ['seconds', () => '3600'],
    ['a date', () => new Date(Date.now() + 3_600_000).toUTCString()],
  ])('waits as long as Retry-After asks in %s', async (_, asked) => {
    await receive(world, (...call) => answering(429, { 'retry-after': asked() })(...call));
    const id = await emit(world);
    await drain(world);
    const [delivery] = await deliveriesOf(world, id);
    expect(delivery?.in_ms).toBeGreaterThan(3_595_000);
    expect(delivery?.in_ms).toBeLessThanOrEqual(3_601_000);
  });
});

describe('the health of an endpoint', () => {
  it('failing is noted once and forgotten at the next success', async () => {
    const { receiver, id: endpoint_id } = await receive(world, answering(500));
    const id = await emit(world);
    await drain(world);
    const since = await world.owner`SELECT failing_since FROM webhook_endpoints WHERE id = ${endpoint_id}`;
    await hurry(world);
    await drain(world);
    expect(await world.owner`SELECT failing_since FROM webhook_endpoints WHERE id = ${endpoint_id}`).toEqual(since);
    receiver.answer = answering(204);
    await hurry(world);
    await drain(world);
    expect(await failingSince(endpoint_id)).toEqual({ failing: false, status: 'enabled', why: null });
    expect(await statusOf(world, id)).toBe('success');
  });

  it('410 disables it, and everything that waits for it fails', async () => {
    const gone = await receive(world, answering(500));
    const healthy = await receive(world);
    const first = await emit(world);
    await drain(world);
    gone.receiver.answer = answering(410);
    const second = await emit(world);
    await drain(world);
    expect(await failingSince(gone.id)).toMatchObject({
      status: 'disabled',
      why: 'The receiver responded with 410 Gone.',
    });
    expect(await failingSince(healthy.id)).toMatchObject({ status: 'enabled', failing: false });
    for (const id of [first, second]) {
      expect(await statusOf(world, id)).toBe('failed');
      const rows = await deliveriesOf(world, id);
      expect(rows.map((row) => [row.endpoint_id, row.status])).toEqual(
        expect.arrayContaining([
          [gone.id, 'failed'],
          [healthy.id, 'success'],
        ]),
      );
    }
    const third = await emit(world);
    await drain(world);
    expect(await statusOf(world, third)).toBe('success');
  });

  it.each([
    ['4 days 23 hours', 'enabled'],
    ['5 days 1 second', 'disabled'],
  ])('after %s of failures it is %s', async (age, status) => {
    const { id: endpoint_id } = await receive(world, answering(500));
    const id = await emit(world);
    await world.owner`
      UPDATE webhook_endpoints SET failing_since = now() - ${age}::text::interval WHERE id = ${endpoint_id}`;
    await drain(world);
    expect((await failingSince(endpoint_id)).status).toBe(status);
    expect(await statusOf(world, id)).toBe(status === 'enabled' ? 'pending' : 'failed');
  });

  it('a delivery claimed for an endpoint that was then disabled fails unsent', async () => {
    const { receiver, id: endpoint_id } = await receive(world);
    const id = await emit(world);
    await world.owner`UPDATE webhook_endpoints SET status = 'disabled' WHERE id = ${endpoint_id}`;
    await drain(world);
    expect(receiver.received).toHaveLength(0);
    expect(await deliveriesOf(world, id)).toMatchObject([{ status: 'failed', ready: false, attempts: 0 }]);
    expect(await statusOf(world, id)).toBe('failed');
  });
});

describe('the status of an event', () => {
  it('is pending until every delivery has ended, then failed if any failed', async () => {
    const { receiver } = await receive(world, answering(500));
    await receive(world);
    const id = await emit(world);
    await drain(world);
    expect(await statusOf(world, id)).toBe('pending');
    await world.owner`UPDATE deliveries SET ladder_from = -8, ready_at = now() WHERE event_id = ${id} AND status = 'pending'`;
    await drain(world);
    expect(await statusOf(world, id)).toBe('failed');
    expect(receiver.received).toHaveLength(2);
  });

  it('does not stay pending when its deliveries end at the same moment', async () => {
    for (let n = 0; n < 4; n += 1) await receive(world);
    const ids = await Promise.all([emit(world), emit(world), emit(world)]);
    while ((await drain(world)) > 0);
    for (const id of ids) expect(await statusOf(world, id)).toBe('success');
  });

  it('comes out right when endpoints that share many events are disabled while all of them are being tried', async () => {
    await receive(world, answering(410));
    await receive(world, answering(410));
    const healthy = await receive(world);
    const ids = await Promise.all(Array.from({ length: 25 }, () => emit(world)));
    const drains = async () => {
      while ((await drain(world)) > 0);
    };
    await Promise.all([drains(), drains(), drains()]);
    // Groups take turns over parallel claims; whatever a claim left behind is taken now.
    await drains();
    expect(healthy.receiver.received).toHaveLength(25);
    for (const id of ids) {
      expect(await statusOf(world, id)).toBe('failed');
      const rows = await deliveriesOf(world, id);
      expect(rows.map((row) => row.status).sort()).toEqual(['failed', 'failed', 'success']);
    }
  });
});

describe('a lease', () => {
  it('that another worker took in mid-try: nothing of the try is committed', async () => {
    const lose = async () => {
      await world.owner`UPDATE deliveries SET fence = fence + 1 WHERE locked_until IS NOT NULL`;
    };
    const { id: endpoint_id } = await receive(world, (response) => {
      void lose().then(() => response.writeHead(410).end());
    });
    const id = await emit(world);
    world.lines.length = 0;
    await drain(world);
    expect(await attemptsOf(world, id)).toEqual([]);
    expect(await deliveriesOf(world, id)).toMatchObject([{ status: 'pending', attempts: 0, free: false }]);
    expect(await failingSince(endpoint_id)).toEqual({ failing: false, status: 'enabled', why: null });
    expect(world.lines.join('')).toContain('lease lost');
  });

  it('that ended before the try: nothing is sent', async () => {
    const { receiver } = await receive(world);
    const id = await emit(world);
    const [lease] = await claim(world);
    if (!lease) throw new Error('nothing claimed');
    await world.owner`UPDATE deliveries SET locked_until = now() - interval '1 s' WHERE id = ${lease.id}`;
    await deliver(world.ctx, lease, new AbortController().signal);
    expect(receiver.received).toHaveLength(0);
    expect(await attemptsOf(world, id)).toEqual([]);
  });

  it.each([
    [stop_reasons.shutdown, true],
    [stop_reasons.lease_lost, false],
  ])('aborted by %s counts no try', async (reason, free) => {
    const abort = new AbortController();
    await receive(world, () => abort.abort(reason));
    const id = await emit(world);
    const [lease] = await claim(world);
    if (!lease) throw new Error('nothing claimed');
    await deliver(world.ctx, lease, abort.signal);
    expect(await attemptsOf(world, id)).toEqual([]);
    expect(await deliveriesOf(world, id)).toMatchObject([{ status: 'pending', attempts: 0, ready: true, free }]);
    expect(await claim(world)).toHaveLength(free ? 1 : 0);
  });
});
