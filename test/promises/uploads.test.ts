import { readFile, writeFile } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createApi } from '../harness/api.ts';
import { createPdf } from '../harness/documents.ts';
import { figure } from '../harness/figure.ts';
import { spawnSandbox, type TestProcess } from '../harness/sandbox.ts';
import { sendDocument } from '../spec/support/sendDocument.ts';

const uploads = figure('UPLOADS', 40);
const document_max = 5_242_880;
/** Less than all documents together. */
const growth_max_mb = 150;

test('memory stays bounded while many documents of 5 MB arrive at once, and each is stored or refused', async () => {
  const installation = await spawnSandbox({ small: true });
  onTestFinished(installation.close);
  const service = await installation.start('api');
  const { sandbox } = await installation.read();
  const base_url = `http://127.0.0.1:${installation.env.PORT}`;
  const fixture = { sandbox: { ...sandbox, base_url } };
  const document = createPdf(document_max);
  expect((await sendDocument(fixture, {}, document)).status).toBe(200);
  await writeFile(`/proc/${service.child.pid}/clear_refs`, '5');
  const before_mb = await peakMb(service);

  const responses = await Promise.all(Array.from({ length: uploads }, () => sendDocument(fixture, {}, document)));
  const rejected = responses.filter(({ status }) => status !== 200);
  for (const { status, body } of rejected) expect({ status, code: body.code }).toStrictEqual(busy);
  expect(responses.length - rejected.length).toBeGreaterThan(0);
  expect((await peakMb(service)) - before_mb).toBeLessThan(growth_max_mb);

  const jobs = await installation.owner`SELECT FROM jobs WHERE type = 'document.upload'`;
  expect(jobs).toHaveLength(responses.length - rejected.length + 1);
  expect((await createApi(fixture.sandbox).call('GET', '/healthz')).status).toBe(200);
});

/** Too many at once; the client sends the document again. */
const busy = { status: 503, code: 'uploads_busy' };

/** The most memory that the process has used since the last reset. */
async function peakMb({ child }: TestProcess): Promise<number> {
  const status = await readFile(`/proc/${child.pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}
