import { sealAudit } from '../src/product/audit/seals.ts';
import { verifyAudit } from '../src/product/audit/verification.ts';
import type { Audit, Context } from '../src/product/context.ts';
import { compare } from './compare.ts';
import { measureRate, type Request } from './measureRate.ts';
import { startApi } from './startApi.ts';

/**
 * Measures the cost of the audit log: the rate of requests with and without audit records, in one process, and how
 * many records are chained and verified per second.
 */
async function main(): Promise<void> {
  const { service, headers, example, close } = await startApi();
  try {
    const { base_url: base, ctx } = service;
    const { pharmacy_ehr_id: _pharmacy, ...fields } = example;
    // A different patient each time: writes for one patient run one after the other.
    const bodies = Array.from({ length: 200 }, (_, n) =>
      JSON.stringify({ ...fields, patient_mrn: `BENCH${n}`, reason: 'bench' }),
    );
    const read = { base, method: 'GET', headers } as const;
    await compareRecorded(ctx, 'a page of 100 patients', { ...read, path: '/v1/patients' });
    await compareRecorded(ctx, 'one patient by MRN', { ...read, path: `/v1/patients?mrn=${example.patient_mrn}` });
    const write = { base, method: 'POST', headers, bodies } as const;
    await compareRecorded(ctx, 'an accepted write', { ...write, path: '/v1/telephone-encounters' });
    await chain(ctx);
  } finally {
    await close();
  }
}

async function compareRecorded(ctx: Context, name: string, request: Request): Promise<void> {
  const recorded = { ...ctx.audit };
  const silent: Audit = {
    record: async () => {},
    recordInTransaction: async () => {},
    // As many rows as records are expected.
    recordStatement: (sql) => sql`SELECT FROM operation`,
    confirm: () => {},
  };
  const rateWith = (audit: Audit) => () => {
    Object.assign(ctx.audit, audit);
    return measureRate(request).then(({ rate }) => rate);
  };
  const baseline = { name: 'the rate without the audit log', measure: rateWith(silent) };
  await compare(`${name}, audited`, rateWith(recorded), baseline);
  Object.assign(ctx.audit, recorded);
}

async function chain(ctx: Context): Promise<void> {
  const time = async (work: () => Promise<number>) => {
    const start = performance.now();
    const count = await work();
    const per_second = Math.round(count / ((performance.now() - start) / 1000));
    return `${per_second} records per second (${count} records)`;
  };
  process.stdout.write(`chained: ${await time(() => sealAudit(ctx))}\n`);
  process.stdout.write(`verified: ${await time(async () => (await verifyAudit(ctx)).checked)}\n`);
}

await main();
