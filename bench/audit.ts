import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'undici';
import { sealAudit } from '../src/audit/sealAudit.ts';
import { verifyAudit } from '../src/audit/verifyAudit.ts';
import { loadConfig } from '../src/config.ts';
import type { Audit, Context } from '../src/context.ts';
import { startService } from '../src/main.ts';

/**
 * What the audit trail costs: requests with their records against the same requests without, as a ratio within one run
 * of one process. Rounds alternate, so that both sides see the same noise. Then how fast records are chained and
 * verified, in thousands a second.
 */
const rounds = 5;
const requests = 1_500;
const at_once = 32;

type Asked = { path: string; method: 'GET' | 'POST'; headers: Record<string, string>; body?: () => string };

async function main(): Promise<void> {
  const data_dir = await mkdtemp(join(tmpdir(), 'chartwire-bench-'));
  const limits = { RATE_LIMIT: '1000000', RATE_BURST: '1000000', LOG_LEVEL: 'silent' };
  const config = loadConfig({ ...limits, DATA_DIR: data_dir, PORT: '0', LARKSPUR_PORT: '0' });
  // Laid by a whole product, measured on an API process alone: a worker would compete for the cores.
  const whole = await startService(config, { role: 'all', print: () => {} });
  await whole.close();
  const { sandbox } = whole;
  if (!sandbox) throw new Error('The bench needs the sandbox.');
  const service = await startService(config, { role: 'api', print: () => {} });
  try {
    const { client_id, client_secret, access_token, example } = sandbox;
    const headers = { client_id, client_secret, access_token, 'content-type': 'application/json' };
    const { pharmacy_ehr_id: _pharmacy, ...fields } = example;
    let turn = 0;
    // Each for another patient: writes of one patient wait for each other by design.
    const body = () => JSON.stringify({ ...fields, patient_mrn: `BENCH${turn++ % 200}`, reason: 'bench' });
    const read = { method: 'GET', headers } as const;
    const { base_url, ctx } = service;
    await compare(ctx, base_url, 'a page of 100 patients', { ...read, path: '/v1/patients' });
    await compare(ctx, base_url, 'one patient by MRN', { ...read, path: `/v1/patients?mrn=${example.patient_mrn}` });
    await compare(ctx, base_url, 'an accepted write', {
      method: 'POST',
      path: '/v1/telephone-encounters',
      headers,
      body,
    });
    await chain(ctx);
  } finally {
    await service.close();
    await rm(data_dir, { recursive: true, force: true });
  }
}

async function compare(ctx: Context, base: string, what: string, asked: Asked): Promise<void> {
  const recorded = { ...ctx.audit };
  const silent: Audit = {
    record: async () => {},
    recordIn: async () => {},
    recordBeside: (sql) => sql`SELECT 1`,
  };
  const ratios: number[] = [];
  await rate(base, asked);
  for (let round = 0; round < rounds; round++) {
    Object.assign(ctx.audit, silent);
    const without = await rate(base, asked);
    Object.assign(ctx.audit, recorded);
    ratios.push((await rate(base, asked)) / without);
  }
  ratios.sort((a, b) => a - b);
  const show = (n: number | undefined) => (n ?? 0).toFixed(2);
  process.stdout.write(
    `${what}, recorded: ${show(ratios[Math.floor(rounds / 2)])} of the rate without (median of ${rounds}; ${show(ratios[0])} to ${show(ratios.at(-1))})\n`,
  );
}

async function chain(ctx: Context): Promise<void> {
  const time = async (work: () => Promise<number>) => {
    const start = performance.now();
    const count = await work();
    return `${(count / (performance.now() - start)).toFixed(1)} thousand a second (${count} records)`;
  };
  process.stdout.write(`chained: ${await time(() => sealAudit(ctx))}\n`);
  process.stdout.write(`verified: ${await time(async () => (await verifyAudit(ctx)).checked)}\n`);
}

/** Requests per second with `at_once` under way. */
async function rate(base: string, { path, method, headers, body }: Asked): Promise<number> {
  const pool = new Pool(base, { connections: at_once });
  let left = requests;
  const start = performance.now();
  await Promise.all(
    Array.from({ length: at_once }, async () => {
      while (left-- > 0) {
        const answer = await pool.request({ path, method, headers, body: body?.() ?? null });
        await answer.body.dump();
        if (answer.statusCode !== 200) throw new Error(`${path} answered ${answer.statusCode}.`);
      }
    }),
  );
  const seconds = (performance.now() - start) / 1000;
  await pool.close();
  return requests / seconds;
}

await main();
