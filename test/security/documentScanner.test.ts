import { describe, expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../scripts/freePort.ts';
import { loadConfig } from '../../src/catalog/settings/config.ts';
import { pingScanner, type Scanner, scanDocument } from '../../src/platform/security/documentScanner.ts';
import { createPdf } from '../harness/documents.ts';
import {
  has_clamd,
  infection,
  type ScannerBehavior,
  startClamd,
  startScannerServer,
  stream_bytes_max,
} from '../harness/servers/scanner.ts';

const never = new AbortController().signal;
const infected = (bytes: number) => Buffer.concat([createPdf(bytes), Buffer.from(infection)]);

async function start(behavior: ScannerBehavior) {
  const server = await startScannerServer();
  onTestFinished(server.close);
  server.behavior = behavior;
  return server;
}

describe.each([
  ['a server with the protocol of clamd', startScannerServer, true],
  ['clamd', startClamd, has_clamd],
] as const)('%s', (_name, startScanner, installed) => {
  test.runIf(installed)(
    'finds an infection, passes other documents, and refuses those over its size limit',
    async () => {
      const scanner = await startScanner();
      onTestFinished(scanner.close);
      const { host, port } = scanner;
      await pingScanner({ host, port });
      const scan = (content: Buffer) => scanDocument({ host, port }, content, never);
      expect(await scan(createPdf(1_000))).toBeUndefined();
      // The end of a document of several chunks.
      expect(await scan(infected(200_000))).toBe('Test.Infection.UNOFFICIAL');
      expect(await scan(createPdf(stream_bytes_max - 1_000))).toBeUndefined();
      await expect(scan(createPdf(5_000_000))).rejects.toMatchObject({
        problem: 'size_limit',
        message: `The scanner at ${host}:${port} accepts no document of this size. Raise its StreamMaxLength.`,
      });
    },
  );
});

test('the scanner receives the document byte for byte', async () => {
  const server = await start('scan');
  const document = infected(150_000);
  await scanDocument(server, document, never);
  expect(server.scanned[0]?.equals(document)).toBe(true);
});

test('a response that arrives in parts is read completely', async () => {
  const server = await start('split');
  expect(await scanDocument(server, infected(1_000), never)).toBe('Test.Infection.UNOFFICIAL');
  expect(await scanDocument(server, createPdf(1_000), never)).toBeUndefined();
});

test.each([
  ['drop', 'closed the connection without a response'],
  ['nonsense', 'gave no usable response'],
  ['truncated', 'gave no usable response'],
] as const)('a scanner that ends with "%s" has not passed the document', async (behavior, what) => {
  const server = await start(behavior);
  await expect(scanDocument(server, createPdf(1_000), never)).rejects.toMatchObject({
    problem: 'unavailable',
    message: `The scanner at 127.0.0.1:${server.port} ${what}.`,
  });
});

test('a scanner that does not respond in time has not passed the document', async () => {
  const server = await start('silent');
  await expect(scanDocument(server, createPdf(1_000), never, 100)).rejects.toThrow('did not respond in time');
});

test('a scan ends when its job is stopped', async () => {
  const server = await start('silent');
  const stop = new AbortController();
  const scan = scanDocument(server, createPdf(1_000), stop.signal);
  stop.abort();
  await expect(scan).rejects.toThrow('was not waited for');
});

test('nothing passes a scanner that cannot be reached, or another kind of server', async () => {
  const nobody: Scanner = { host: '127.0.0.1', port: await freePort() };
  await expect(scanDocument(nobody, createPdf(1_000), never)).rejects.toThrow('cannot be reached (ECONNREFUSED)');
  await expect(pingScanner(nobody)).rejects.toThrow('cannot be reached (ECONNREFUSED)');
});

test.each(['http://scanner:3310', 'tcp://', 'tcp://user:secret@scanner', 'tcp://scanner/path', 'scanner:3310'])(
  'DOCUMENT_SCANNER=%s is refused',
  (value) => {
    expect(() => loadConfig({ DOCUMENT_SCANNER: value })).toThrow(/^DOCUMENT_SCANNER must (?!.*secret)/);
  },
);

test('DOCUMENT_SCANNER names a host and a port, 3310 by default', () => {
  expect(loadConfig({ DOCUMENT_SCANNER: 'tcp://[::1]' }).document_scanner).toStrictEqual({ host: '::1', port: 3310 });
  expect(loadConfig({ DOCUMENT_SCANNER: 'tcp://scanner:3311' }).document_scanner).toStrictEqual({
    host: 'scanner',
    port: 3311,
  });
  expect(loadConfig({}).document_scanner).toBeUndefined();
});
