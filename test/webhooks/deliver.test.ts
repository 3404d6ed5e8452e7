import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { EventOf } from '../../src/model/events.ts';
import { createCircuits } from '../../src/platform/worker/backoff.ts';
import { stop_reasons } from '../../src/platform/worker/worker.ts';
import { deliver } from '../../src/product/webhooks/deliver.ts';
import { retry_delays_ms } from '../../src/product/webhooks/deliveries.ts';
import { rotateSecret } from '../../src/product/webhooks/secrets.ts';
import { type Received, respondWith, startReceiver } from '../harness/servers/receiver.ts';
import { createTenant } from '../harness/tenant.ts';
import {
  claim,
  createFixture,
  deliverDue,
  emit,
  type Fixture,
  makeDue,
  readAttempts,
  readDeliveries,
  readStatus,
  startEndpoint,
} from './fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture();
});
beforeEach(async () => {
  // Each test has its own tenant, and no delivery of another test is due.
  await fixture.owner`UPDATE deliveries SET ready_at = NULL`;
  fixture.tenant = await createTenant(fixture.owner);
});
afterEach(() => {
  vi.useRealTimers();
});
afterAll(() => fixture.close());

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
  const sent_headers = headers as Record<string, string>;
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const content = `${sent_headers['webhook-id']}.${sent_headers['webhook-timestamp']}.${body}`;
  const manual_signature = `v1,${createHmac('sha256', key).update(content).digest('base64')}`;
  const matches = sent_headers['webhook-signature']?.split(' ').includes(manual_signature);
  try {
    new Webhook(secret).verify(body, sent_headers);
  } catch {
    if (matches) throw new Error('standardwebhooks and the manual check disagree');
    return false;
  }
  if (!matches) throw new Error('standardwebhooks and the manual check disagree');
  return true;
}

async function readHealth(endpoint_id: string): Promise<{ failing: boolean; status: string; why: string | null }> {
  const [row] = await fixture.owner<{ failing: boolean; status: string; why: string | null }[]>`
    SELECT failing_since IS NOT NULL AS failing, status, disabled_reason AS why FROM webhook_endpoints
     WHERE id = ${endpoint_id}`;
  if (!row) throw new Error('The endpoint does not exist.');
  return row;
}

describe('an attempt', () => {
  it('sends the stored bytes, signed, and marks the delivery and its event as successful', async () => {
    const { receiver, secret } = await startEndpoint(fixture);
    const id = await emit(fixture, failed);
    const before_s = Math.floor(Date.now() / 1000);
    expect(await deliverDue(fixture)).toBe(1);
    const [request] = receiver.received;
    if (!request) throw new Error('No request was received.');
    const [stored] = await fixture.owner<{ body: string }[]>`SELECT body FROM events WHERE id = ${id}`;
    expect(request.body).toBe(stored?.body);
    expect(request.headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'Chartwire',
      'webhook-id': id,
      'webhook-attempt': '1',
      'cobalt-verification': createHmac('sha256', secret).update(request.body).digest('hex'),
    });
    const sent_s = Number(request.headers['webhook-timestamp']);
    expect(sent_s).toBeGreaterThanOrEqual(before_s);
    expect(sent_s).toBeLessThanOrEqual(Date.now() / 1000);
    expect(verifies(request, secret)).toBe(true);
    expect(await readDeliveries(fixture, id)).toMatchObject([
      { status: 'success', ready: false, free: true, attempts: 1 },
    ]);
    expect(await readAttempts(fixture, id)).toMatchObject([{ attempt: 1, status_code: 200, problem: null }]);
    expect(await readStatus(fixture, id)).toBe('success');
    expect(await deliverDue(fixture)).toBe(0);
  });

  it('is signed with every live secret after a rotation', async () => {
    const { receiver, id: endpoint_id, secret } = await startEndpoint(fixture);
    const { client_id } = fixture.tenant;
    const rotated = await fixture.db.tenant(client_id, (tx) =>
      rotateSecret(fixture.ctx, tx, client_id, { endpoint_id }),
    );
    await emit(fixture);
    await deliverDue(fixture);
    await fixture.owner`UPDATE webhook_secrets SET expires_at = now() WHERE expires_at IS NOT NULL`;
    await emit(fixture);
    await deliverDue(fixture);
    const [during, after] = receiver.received;
    if (!during || !after || !rotated) throw new Error('No request was received.');
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
  ])('an attempt with the response %i fails', async (status, problem) => {
    const elsewhere = await startReceiver();
    const { receiver, id: endpoint_id } = await startEndpoint(
      fixture,
      respondWith(status, { location: elsewhere.url }, 'MRN-4711'),
    );
    const id = await emit(fixture, failed);
    await deliverDue(fixture);
    expect(receiver.received).toHaveLength(1);
    expect(elsewhere.received).toHaveLength(0);
    await elsewhere.close();
    expect(await readAttempts(fixture, id)).toMatchObject([{ attempt: 1, status_code: status, problem }]);
    expect(await readDeliveries(fixture, id)).toMatchObject([
      { status: 'pending', free: true, ready: true, attempts: 1 },
    ]);
    expect(await readStatus(fixture, id)).toBe('pending');
    expect(await readHealth(endpoint_id)).toMatchObject({ failing: true, status: 'enabled' });
  });

  it('an attempt without a response in time fails', async () => {
    const { receiver } = await startEndpoint(fixture, () => {});
    const id = await emit(fixture);
    await deliverDue(fixture, { timeout_ms: 1_000 });
    expect(receiver.received).toHaveLength(1);
    const [attempt] = await readAttempts(fixture, id);
    expect(attempt).toMatchObject({
      status_code: null,
      problem: expect.stringMatching(/did not respond within 1 s/),
    });
    expect(attempt?.duration_ms).toBeGreaterThanOrEqual(950);
  });

  it('an attempt that is refused, cut off or sent to a forbidden address fails', async () => {
    const closed = await startEndpoint(fixture);
    await closed.receiver.close();
    await startEndpoint(fixture, (response) => response.destroy());
    const moved = await startEndpoint(fixture);
    await fixture.owner`UPDATE webhook_endpoints SET url = 'https://10.0.0.1/' WHERE id = ${moved.id}`;
    const id = await emit(fixture);
    await deliverDue(fixture);
    const problems = (await readAttempts(fixture, id)).map((attempt) => attempt.problem);
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

  it('reads at most 64 KB of a response', async () => {
    let written = 0;
    let resolveClosed = () => {};
    const closed = new Promise<void>((resolve) => {
      resolveClosed = resolve;
    });
    await startEndpoint(fixture, (response) => {
      const chunk = Buffer.alloc(16_384, 'x');
      const fill = () => {
        while (!response.destroyed && response.write(chunk)) written += chunk.length;
      };
      response.on('drain', fill).on('close', resolveClosed);
      response.writeHead(200);
      fill();
    });
    const id = await emit(fixture);
    await deliverDue(fixture);
    await closed;
    expect(await readStatus(fixture, id)).toBe('success');
    // The socket buffers beyond the 64 KB are limited by the kernel, not by us.
    expect(written).toBeLessThan(16_000_000);
  });

  it('logs and reports no health data, URL or secret; the response snippet is deleted with the event', async () => {
    const { secret } = await startEndpoint(fixture, respondWith(500, {}, 'Anna Planted, MRN-4711'));
    fixture.lines.length = 0;
    const id = await emit(fixture, failed);
    await deliverDue(fixture);
    const output = fixture.lines.join('') + JSON.stringify(await readAttempts(fixture, id));
    expect(fixture.lines).toHaveLength(1);
    expect(output).toContain('telephone_encounter.failed');
    for (const text of ['Anna', 'MRN-4711', '/hook', secret.slice(6)]) expect(output).not.toContain(text);
    const metric = await fixture.ctx.metrics.registry.getSingleMetricAsString('chartwire_delivery_seconds');
    expect(metric).toContain('outcome="retry"');
    const snippets = () => fixture.owner`SELECT snippet FROM delivery_attempts WHERE snippet LIKE 'Anna Planted%'`;
    expect(await snippets()).toMatchObject([{ snippet: 'Anna Planted, MRN-4711' }]);
    await fixture.owner`DELETE FROM events WHERE id = ${id}`;
    expect(await snippets()).toHaveLength(0);
  });
});

describe('the retry schedule', () => {
  it('makes ten attempts with the same id, new timestamps and valid signatures, then fails', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-05-01T12:00:00Z') });
    const { receiver, secret, id: endpoint_id } = await startEndpoint(fixture, respondWith(503));
    const id = await emit(fixture);
    for (const [at, plain] of [...retry_delays_ms.slice(1), undefined].entries()) {
      const started_ms = performance.now();
      expect(await deliverDue(fixture)).toBe(1);
      const took_ms = performance.now() - started_ms;
      expect(verifies(receiver.received[at] as Received, secret)).toBe(true);
      const [delivery] = await readDeliveries(fixture, id);
      if (plain === undefined) expect(delivery).toMatchObject({ status: 'failed', ready: false, free: true });
      else {
        // The attempt is recorded shortly before the pause starts.
        expect(delivery?.gap_ms).toBeGreaterThanOrEqual(plain * 0.8);
        expect(delivery?.gap_ms).toBeLessThanOrEqual(plain * 1.2 + took_ms);
        expect(await deliverDue(fixture)).toBe(0);
        vi.setSystemTime(Date.now() + plain);
        await makeDue(fixture);
      }
    }
    const requests = receiver.received.map(({ headers, body }) => ({ headers, body }));
    expect(requests.map(({ headers }) => headers['webhook-attempt'])).toEqual(
      retry_delays_ms.map((_, at) => String(at + 1)),
    );
    expect(new Set(requests.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([id]));
    expect(new Set(requests.map(({ body }) => body)).size).toBe(1);
    expect(new Set(requests.map(({ headers }) => headers['webhook-timestamp'])).size).toBe(10);
    expect(await readAttempts(fixture, id)).toHaveLength(10);
    expect(await readStatus(fixture, id)).toBe('failed');
    expect((await readHealth(endpoint_id)).status).toBe('enabled');
    await makeDue(fixture);
    expect(await deliverDue(fixture)).toBe(0);
  });

  it.each([
    ['seconds', () => '3600'],
    ['a date', () => new Date(Date.now() + 3_600_000).toUTCString()],
  ])('respects Retry-After in %s', async (_, header) => {
    await startEndpoint(fixture, (...call) => respondWith(429, { 'retry-after': header() })(...call));
    const id = await emit(fixture);
    await deliverDue(fixture);
    const [delivery] = await readDeliveries(fixture, id);
    expect(delivery?.in_ms).toBeGreaterThan(3_595_000);
    expect(delivery?.in_ms).toBeLessThanOrEqual(3_601_000);
  });
});

describe('the health of an endpoint', () => {
  it('is failing from the first failure until the next success', async () => {
    const { receiver, id: endpoint_id } = await startEndpoint(fixture, respondWith(500));
    const id = await emit(fixture);
    await deliverDue(fixture);
    const since = await fixture.owner`SELECT failing_since FROM webhook_endpoints WHERE id = ${endpoint_id}`;
    await makeDue(fixture);
    await deliverDue(fixture);
    expect(await fixture.owner`SELECT failing_since FROM webhook_endpoints WHERE id = ${endpoint_id}`).toEqual(since);
    receiver.respond = respondWith(204);
    await makeDue(fixture);
    await deliverDue(fixture);
    expect(await readHealth(endpoint_id)).toEqual({ failing: false, status: 'enabled', why: null });
    expect(await readStatus(fixture, id)).toBe('success');
  });

  it('decides how many deliveries it gets at once: 20, and 4 while it is failing', async () => {
    const { id } = await startEndpoint(fixture);
    await Promise.all(Array.from({ length: 25 }, () => emit(fixture)));
    // A client gets at most half of the slots.
    expect(await claim(fixture, 64)).toHaveLength(20);
    expect(await claim(fixture, 64)).toHaveLength(0);
    await fixture.owner`UPDATE deliveries SET locked_until = NULL, owner = NULL WHERE endpoint_id = ${id}`;
    await fixture.owner`UPDATE webhook_endpoints SET failing_since = now() WHERE id = ${id}`;
    expect(await claim(fixture, 64)).toHaveLength(4);
    expect(await claim(fixture, 64)).toHaveLength(0);
  });

  it('410 disables it and fails its pending deliveries', async () => {
    const gone = await startEndpoint(fixture, respondWith(500));
    const healthy = await startEndpoint(fixture);
    const first = await emit(fixture);
    await deliverDue(fixture);
    gone.receiver.respond = respondWith(410);
    const second = await emit(fixture);
    await deliverDue(fixture);
    expect(await readHealth(gone.id)).toMatchObject({
      status: 'disabled',
      why: 'The receiver responded with 410 Gone.',
    });
    expect(await readHealth(healthy.id)).toMatchObject({ status: 'enabled', failing: false });
    for (const id of [first, second]) {
      expect(await readStatus(fixture, id)).toBe('failed');
      const rows = await readDeliveries(fixture, id);
      expect(rows.map((row) => [row.endpoint_id, row.status])).toEqual(
        expect.arrayContaining([
          [gone.id, 'failed'],
          [healthy.id, 'success'],
        ]),
      );
    }
    const third = await emit(fixture);
    await deliverDue(fixture);
    expect(await readStatus(fixture, third)).toBe('success');
  });

  it.each([
    ['4 days 23 hours', 'enabled'],
    ['5 days 1 second', 'disabled'],
  ])('an endpoint that has failed for %s is %s', async (age, status) => {
    const { id: endpoint_id } = await startEndpoint(fixture, respondWith(500));
    const id = await emit(fixture);
    await fixture.owner`
      UPDATE webhook_endpoints SET failing_since = now() - ${age}::text::interval WHERE id = ${endpoint_id}`;
    await deliverDue(fixture);
    expect((await readHealth(endpoint_id)).status).toBe(status);
    expect(await readStatus(fixture, id)).toBe(status === 'enabled' ? 'pending' : 'failed');
  });

  it('a claimed delivery fails without being sent if the endpoint was disabled meanwhile', async () => {
    const { receiver, id: endpoint_id } = await startEndpoint(fixture);
    const id = await emit(fixture);
    await fixture.owner`UPDATE webhook_endpoints SET status = 'disabled' WHERE id = ${endpoint_id}`;
    await deliverDue(fixture);
    expect(receiver.received).toHaveLength(0);
    expect(await readDeliveries(fixture, id)).toMatchObject([{ status: 'failed', ready: false, attempts: 0 }]);
    expect(await readStatus(fixture, id)).toBe('failed');
  });
});

describe('the status of an event', () => {
  it('is pending until every delivery is finished, then failed if any failed', async () => {
    const { receiver } = await startEndpoint(fixture, respondWith(500));
    await startEndpoint(fixture);
    const id = await emit(fixture);
    await deliverDue(fixture);
    expect(await readStatus(fixture, id)).toBe('pending');
    await fixture.owner`UPDATE deliveries SET schedule_from = -8, ready_at = now() WHERE event_id = ${id} AND status = 'pending'`;
    await deliverDue(fixture);
    expect(await readStatus(fixture, id)).toBe('failed');
    expect(receiver.received).toHaveLength(2);
  });

  it('does not stay pending if its deliveries finish concurrently', async () => {
    for (let n = 0; n < 4; n += 1) await startEndpoint(fixture);
    const ids = await Promise.all([emit(fixture), emit(fixture), emit(fixture)]);
    while ((await deliverDue(fixture)) > 0);
    for (const id of ids) expect(await readStatus(fixture, id)).toBe('success');
  });

  it('is correct if endpoints that share many events are disabled during their attempts', async () => {
    await startEndpoint(fixture, respondWith(410));
    await startEndpoint(fixture, respondWith(410));
    const healthy = await startEndpoint(fixture);
    const ids = await Promise.all(Array.from({ length: 25 }, () => emit(fixture)));
    const deliverAll = async () => {
      while ((await deliverDue(fixture)) > 0);
    };
    await Promise.all([deliverAll(), deliverAll(), deliverAll()]);
    // Parallel claims may leave some behind.
    await deliverAll();
    expect(healthy.receiver.received).toHaveLength(25);
    for (const id of ids) {
      expect(await readStatus(fixture, id)).toBe('failed');
      const rows = await readDeliveries(fixture, id);
      expect(rows.map((row) => row.status).sort()).toEqual(['failed', 'failed', 'success']);
    }
  });
});

describe('a lease', () => {
  it('lost during an attempt commits nothing', async () => {
    const loseLease = async () => {
      await fixture.owner`UPDATE deliveries SET fence = fence + 1 WHERE locked_until IS NOT NULL`;
    };
    const { id: endpoint_id } = await startEndpoint(fixture, (response) => {
      void loseLease().then(() => response.writeHead(410).end());
    });
    const id = await emit(fixture);
    fixture.lines.length = 0;
    await deliverDue(fixture);
    expect(await readAttempts(fixture, id)).toEqual([]);
    expect(await readDeliveries(fixture, id)).toMatchObject([{ status: 'pending', attempts: 0, free: false }]);
    expect(await readHealth(endpoint_id)).toEqual({ failing: false, status: 'enabled', why: null });
    expect(fixture.lines.join('')).toContain('lease lost');
  });

  it('a delivery to a receiver that hangs is postponed without counting an attempt', async () => {
    const { receiver, id: endpoint_id } = await startEndpoint(fixture);
    const id = await emit(fixture);
    const circuits = createCircuits({ failures_max: 1 });
    circuits.report(endpoint_id, 'hung');
    await deliverDue(fixture, { circuits });
    expect(receiver.received).toHaveLength(0);
    expect(await readDeliveries(fixture, id)).toMatchObject([{ status: 'pending', attempts: 0, free: true }]);
    expect(await claim(fixture)).toHaveLength(0);
  });

  it('a lease that expired before the attempt sends nothing', async () => {
    const { receiver } = await startEndpoint(fixture);
    const id = await emit(fixture);
    const [lease] = await claim(fixture);
    if (!lease) throw new Error('No delivery was claimed.');
    await fixture.owner`UPDATE deliveries SET locked_until = now() - interval '1 s' WHERE id = ${lease.id}`;
    await deliver(fixture.ctx, lease, new AbortController().signal);
    expect(receiver.received).toHaveLength(0);
    expect(await readAttempts(fixture, id)).toEqual([]);
  });

  it.each([
    [stop_reasons.shutdown, true],
    [stop_reasons.lease_lost, false],
  ])('aborted by %s does not count as an attempt', async (reason, free) => {
    const abort = new AbortController();
    await startEndpoint(fixture, () => abort.abort(reason));
    const id = await emit(fixture);
    const [lease] = await claim(fixture);
    if (!lease) throw new Error('No delivery was claimed.');
    await deliver(fixture.ctx, lease, abort.signal);
    expect(await readAttempts(fixture, id)).toEqual([]);
    expect(await readDeliveries(fixture, id)).toMatchObject([{ status: 'pending', attempts: 0, ready: true, free }]);
    expect(await claim(fixture)).toHaveLength(free ? 1 : 0);
  });
});
