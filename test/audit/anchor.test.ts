import { appendFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { firstIdAt, newId } from '../../src/catalog/ids.ts';
import { loadConfig } from '../../src/catalog/settings/config.ts';
import type { Tx } from '../../src/platform/db/database.ts';
import { createLog } from '../../src/platform/telemetry/log.ts';
import { createMetrics } from '../../src/platform/telemetry/metrics.ts';
import { openAnchor, resetAnchor } from '../../src/product/audit/anchors.ts';
import { openAudit } from '../../src/product/audit/openAudit.ts';
import { createHead, sealAudit } from '../../src/product/audit/seals.ts';
import { collectAnchors, verifyAudit, verifyIfDue } from '../../src/product/audit/verification.ts';
import { startReceiver } from '../harness/servers/receiver.ts';
import { createTrail, type TrailFixture } from './fixture.ts';

let fixture: TrailFixture;
let data_dir: string;
beforeAll(async () => {
  fixture = await createTrail();
});
afterAll(() => fixture.close());
beforeEach(async () => {
  data_dir = await mkdtemp(join(process.env.CHARTWIRE_TEST_ROOT ?? tmpdir(), 'anchor-'));
  await fixture.owner`TRUNCATE audit_records, audit_head`;
  // Another process, which has stored none of the records that are gone.
  await fixture.ctx.audit.close();
  fixture.ctx.audit = await openAudit(fixture.ctx.db, fixture.ctx.system_keys);
});
afterEach(() => rm(data_dir, { recursive: true }));

const key = () => fixture.ctx.system_keys.key('audit.chain');

/** The context of a process that uses the data folder, with what it logged. */
function createProcess(env: Record<string, string> = {}) {
  const lines: string[] = [];
  const ctx = {
    ...fixture.ctx,
    config: loadConfig({ DATA_DIR: data_dir, ...env }),
    log: createLog('info', { write: (line) => void lines.push(line) }),
    metrics: createMetrics(),
  };
  const intact = async (check: string) => {
    const { values } = await ctx.metrics.audit_intact.get();
    return values.find(({ labels }) => labels.check === check)?.value;
  };
  return { ctx, lines, intact };
}

async function addRecords(count: number): Promise<void> {
  const entry = { client_id: null, actor_kind: 'system', actor: 't', action: 't', outcome: 't' } as const;
  for (let n = 0; n < count; n++) await fixture.ctx.audit.record(entry);
  await sealAudit(fixture.ctx);
}

async function verify(env: Record<string, string> = {}, files: string[] = []) {
  const { ctx } = createProcess(env);
  return verifyAudit(ctx, { anchors: await collectAnchors(ctx, files), batch: 3 });
}

/** Seals and anchors records, and starts a process that has this anchor. */
async function startAnchored(count = 5, env: Record<string, string> = {}, now?: () => number) {
  const process = createProcess(env);
  const anchor = await openAnchor(process.ctx, now);
  onTestFinished(anchor.close);
  await addRecords(count);
  await anchor.advance();
  return { ...process, anchor };
}

const eraseAll = async (tx: Tx) => {
  await tx`DELETE FROM audit_records`;
  await tx`DELETE FROM audit_head`;
};

/** What someone with the database, an older copy of it and even the restarted service could do. */
const attacks: [string, string, () => Promise<void>][] = [
  [
    'all records and the head are deleted, and the service starts again',
    'rolled_back',
    async () => {
      await fixture.owner.begin(eraseAll);
      await createHead(fixture.ctx.db.system, key());
    },
  ],
  [
    'all records are deleted and as many others are written',
    'anchor_mismatch',
    async () => {
      await fixture.owner.begin(eraseAll);
      await createHead(fixture.ctx.db.system, key());
      await addRecords(8);
    },
  ],
  [
    'an old head is restored with its records',
    'rolled_back',
    async () => {
      await fixture.owner`DELETE FROM audit_records WHERE position > 2`;
      await fixture.owner`UPDATE audit_head SET (position, chain, mac) = (SELECT position, chain, mac FROM old_head)`;
    },
  ],
  [
    'an old head is restored and continued',
    'anchor_mismatch',
    async () => {
      await fixture.owner`DELETE FROM audit_records WHERE position > 2`;
      await fixture.owner`UPDATE audit_head SET (position, chain, mac) = (SELECT position, chain, mac FROM old_head)`;
      await addRecords(6);
    },
  ],
  ['the head is deleted', 'head_broken', async () => void (await fixture.owner`DELETE FROM audit_head`)],
];

describe.each(attacks)('if %s', (_name, fault, attack) => {
  beforeEach(async () => {
    await addRecords(2);
    await fixture.owner`DROP TABLE IF EXISTS old_head`;
    await fixture.owner`CREATE TABLE old_head AS SELECT * FROM audit_head`;
  });

  test(`verification finds ${fault}, and a running and a new process raise an alarm`, async () => {
    const running = await startAnchored();
    expect(await verify()).toMatchObject({ ok: true });
    const before = await readFile(join(data_dir, 'audit.anchor'), 'utf8');
    await attack();
    const verdict = await verify();
    expect(verdict.ok).toBe(false);
    expect(verdict.faults.map(({ what }) => what)).toContain(fault);
    const restarted = createProcess();
    const anchor = await openAnchor(restarted.ctx);
    onTestFinished(anchor.close);
    for (const each of [running, { ...restarted, anchor }]) {
      await each.anchor.advance();
      await each.anchor.advance();
      const alarms = each.lines.filter((line) => line.includes('"level":"error"'));
      expect(alarms, 'reported once').toHaveLength(1);
      expect(alarms[0]).toContain(`"reason":"${fault}"`);
      expect(await each.intact('anchor')).toBe(0);
    }
    expect(await readFile(join(data_dir, 'audit.anchor'), 'utf8'), 'the evidence is kept').toBe(before);
  });
});

describe('no alarm is raised', () => {
  test('no alarm is raised after a crash between the commit of the head and the anchor', async () => {
    await startAnchored();
    // Sealed, and the process was killed before it anchored the new head.
    await addRecords(4);
    expect(await verify()).toMatchObject({ ok: true });
    const { ctx, lines, intact } = createProcess();
    const anchor = await openAnchor(ctx);
    await anchor.advance();
    expect([await intact('anchor'), lines]).toStrictEqual([1, []]);
    expect(JSON.parse(await readFile(join(data_dir, 'audit.anchor'), 'utf8'))).toMatchObject({ position: 9 });
  });

  test('no alarm is raised after a crash that left an empty or a cut anchor, or a draft of one', async () => {
    const file = join(data_dir, 'audit.anchor');
    await startAnchored();
    const whole = await readFile(file, 'utf8');
    await writeFile(`${file}.0123456789ab`, '');
    for (const text of ['', whole.slice(0, 40)]) {
      await writeFile(file, text);
      const { ctx, lines } = createProcess();
      const anchor = await openAnchor(ctx);
      await anchor.advance();
      expect(lines).toStrictEqual([]);
      expect(await verify()).toMatchObject({ ok: true });
    }
  });

  test('no alarm is raised while processes seal and anchor concurrently', async () => {
    const processes = [createProcess(), createProcess(), createProcess()];
    const anchors = await Promise.all(processes.map(({ ctx }) => openAnchor(ctx)));
    for (let round = 0; round < 5; round++) {
      await Promise.all([...anchors.map(({ advance }) => advance()), addRecords(3), verify(), addRecords(2)]);
      expect((await verify()).faults).toStrictEqual([]);
    }
    expect(processes.flatMap(({ lines }) => lines)).toStrictEqual([]);
    expect(await readdir(data_dir)).toStrictEqual(['audit.anchor']);
  });
});

test('a changed anchor is found, and so is one of another database', async () => {
  await startAnchored();
  const file = join(data_dir, 'audit.anchor');
  const line = JSON.parse(await readFile(file, 'utf8'));
  for (const change of [{ position: 1 }, { reset_at: new Date().toISOString() }, { mac: '00'.repeat(32) }]) {
    await writeFile(file, JSON.stringify({ ...line, ...change }));
    expect((await verify()).faults).toContainEqual({ position: null, id: null, what: 'anchor_changed' });
  }
});

test('a log restored from a backup is accepted by an operator, also by processes that are running', async () => {
  const AUDIT_ANCHOR_FILE = join(data_dir, 'copies');
  const { anchor, ctx, lines, intact } = await startAnchored(5, { AUDIT_ANCHOR_FILE });
  await fixture.owner.begin(eraseAll);
  await createHead(fixture.ctx.db.system, key());
  await addRecords(1);
  await anchor.advance();
  expect(await intact('anchor')).toBe(0);
  expect(await resetAnchor(ctx)).toStrictEqual({ from: 5, to: 1 });
  await anchor.advance();
  expect(await intact('anchor')).toBe(1);
  expect(lines.at(-1)).toContain('matches its anchor again');
  await addRecords(2);
  await anchor.advance();
  expect(await verify({ AUDIT_ANCHOR_FILE })).toMatchObject({ ok: true });
});

describe('copies of the anchor', () => {
  test('are appended to a file and sent to a URL at most once a minute, and the last one is sent too', async () => {
    const receiver = await startReceiver();
    onTestFinished(receiver.close);
    const AUDIT_ANCHOR_FILE = join(data_dir, 'copies');
    let now = Date.now();
    const env = { AUDIT_ANCHOR_FILE, AUDIT_ANCHOR_URL: receiver.url };
    const { anchor, lines } = await startAnchored(1, env, () => now);
    for (const passed_ms of [1_000, 1_000, 60_000]) {
      now += passed_ms;
      await addRecords(1);
      await anchor.advance();
    }
    now += 60_000;
    await anchor.advance();
    await anchor.close();
    const copies = (await readFile(AUDIT_ANCHOR_FILE, 'utf8')).split('\n').filter((line) => line !== '');
    expect(copies.map((line) => JSON.parse(line).position)).toStrictEqual([1, 4]);
    expect(receiver.received.map(({ body }) => body)).toStrictEqual(copies);
    expect(lines).toStrictEqual([]);
  });

  test('reveal a roll-back even if the data folder was rolled back with the database', async () => {
    const AUDIT_ANCHOR_FILE = join(data_dir, 'copies');
    await startAnchored(5, { AUDIT_ANCHOR_FILE });
    // A line that a crash cut short.
    await appendFile(AUDIT_ANCHOR_FILE, '{"position":9,"ch');
    await fixture.owner.begin(eraseAll);
    await createHead(fixture.ctx.db.system, key());
    await rm(join(data_dir, 'audit.anchor'));
    expect(await verify()).toMatchObject({ ok: true });
    const verdict = { ok: false, faults: [{ position: 5, what: 'rolled_back' }] };
    expect(await verify({ AUDIT_ANCHOR_FILE })).toMatchObject(verdict);
    expect(await verify({}, [AUDIT_ANCHOR_FILE]), 'collected by the operator').toMatchObject(verdict);
    const { ctx, intact } = createProcess({ AUDIT_ANCHOR_FILE });
    const anchor = await openAnchor(ctx);
    await anchor.advance();
    expect(await intact('anchor')).toBe(0);
  });

  test('copies of the anchor that cannot be delivered are a warning without the URL', async () => {
    const AUDIT_ANCHOR_URL = 'http://127.0.0.1:9/?token=secret';
    const { anchor, lines } = await startAnchored(1, { AUDIT_ANCHOR_URL });
    await anchor.close();
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('"reason":"AUDIT_ANCHOR_URL"');
    expect(lines[0]).not.toContain('secret');
  });
});

test('the whole log is verified once in AUDIT_VERIFY_HOURS, and the result is recorded', async () => {
  const { ctx, intact } = await startAnchored();
  const outcomes = async () => {
    const rows = await fixture.owner`SELECT outcome FROM audit_records WHERE action = 'audit.verify' ORDER BY id`;
    return rows.map(({ outcome }) => outcome);
  };
  await verifyIfDue(ctx);
  await verifyIfDue(ctx);
  expect([await outcomes(), await intact('chain')]).toStrictEqual([['ok'], 1]);
  await fixture.owner`UPDATE audit_records SET at = at - interval '25 hours' WHERE action = 'audit.verify'`;
  await fixture.owner`DELETE FROM audit_records WHERE position = 2`;
  await verifyIfDue(ctx);
  expect([await outcomes(), await intact('chain')]).toStrictEqual([['ok', 'failed'], 0]);
});

test.each([
  ['in the future', new Date('2100-01-01')],
  ['now', new Date()],
])('a forged record of a verification %s does not postpone the next one', async (_when, at) => {
  const { ctx, intact } = await startAnchored();
  const id = `${firstIdAt(at).slice(0, 12)}${newId().slice(12)}`;
  const forged = { id, at, actor_kind: 'system', actor: 'service', action: 'audit.verify', outcome: 'ok' };
  await fixture.owner`INSERT INTO audit_records ${fixture.owner.values({ ...forged, patients: [], mac: Buffer.alloc(32) })}`;
  await verifyIfDue(ctx);
  expect(await intact('chain')).toBe(0);
  const outcomes = async () =>
    (await fixture.owner`SELECT outcome FROM audit_records WHERE action = 'audit.verify' AND id <> ${id}`).map(
      ({ outcome }) => outcome,
    );
  expect(await outcomes()).toStrictEqual(['failed']);
  await verifyIfDue(ctx);
  expect(await outcomes(), 'its own record counts').toStrictEqual(['failed']);
});
