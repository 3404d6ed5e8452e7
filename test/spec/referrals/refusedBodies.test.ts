import { connect } from 'node:net';
import { Pool } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectApiError } from '../../api/support.ts';
import { documents } from '../../harness/documents.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { attach, referralBody } from './referralRequests.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
});
afterAll(() => fixture.close());

const megabyte = 1_048_576;
const withContent = (content_base64: string) => referralBody({ documents: [{ filename: 'a.pdf', content_base64 }] });

const refused: [string, number, () => Record<string, unknown>][] = [
  ['a document over 5 MB', 413, () => withContent('A'.repeat(8 * megabyte))],
  ['a text over the limit', 413, () => referralBody({ reason: 'x'.repeat(1.5 * megabyte) })],
  ['a text far over the limit', 413, () => referralBody({ reason: 'x'.repeat(20 * megabyte) })],
  ['base64 that is wrong from the start', 400, () => withContent(`!${'A'.repeat(3 * megabyte)}`)],
];

function headers(): Record<string, string> {
  const { client_id, client_secret, access_token } = fixture.sandbox;
  return { client_id, client_secret, access_token, 'content-type': 'application/json' };
}

/** The status lines that come back on one connection for two requests. */
async function statusLines(request: string): Promise<string[]> {
  const { hostname, port } = new URL(fixture.sandbox.base_url);
  const socket = connect(Number(port), hostname);
  try {
    return await new Promise((resolve, reject) => {
      let received = '';
      socket.setTimeout(20_000, () => reject(new Error(`No second response after: ${received.slice(0, 200)}`)));
      socket.on('error', reject);
      socket.on('data', (chunk) => {
        received += chunk.toString('latin1');
        const lines = received.match(/HTTP\/1\.1 \d{3}/g) ?? [];
        if (lines.length === 2) resolve(lines);
      });
      socket.write(request);
      socket.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n');
    });
  } finally {
    socket.destroy();
  }
}

test(row('ATT-05'), async () => {
  const { host, origin } = new URL(fixture.sandbox.base_url);
  const pool = new Pool(origin, { connections: 1, headersTimeout: 20_000, bodyTimeout: 20_000 });
  const sent_headers = Object.entries({ ...headers(), host }).map(([name, value]) => `${name}: ${value}\r\n`);
  try {
    for (const [title, status, toBody] of refused) {
      const body = JSON.stringify(toBody());
      for (const framed of [
        `content-length: ${body.length}\r\n\r\n${body}`,
        `transfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
      ]) {
        const lines = await statusLines(`POST /v1/referrals HTTP/1.1\r\n${sent_headers.join('')}${framed}`);
        expect(lines, title).toStrictEqual([`HTTP/1.1 ${status}`, 'HTTP/1.1 200']);
      }
      const request = { method: 'POST', path: '/v1/referrals', headers: headers(), body } as const;
      const response = await pool.request(request);
      await response.body.dump();
      expect(response.statusCode, title).toBe(status);
      const next = await pool.request({ method: 'GET', path: '/healthz' });
      await next.body.dump();
      expect(next.statusCode, title).toBe(200);
    }
  } finally {
    await pool.destroy();
  }
});

describe('documents', () => {
  test(row('ATT-09'), async () => {
    const send = (...files: Record<string, unknown>[]) =>
      fixture.api.call('POST', '/v1/referrals', { body: referralBody({ documents: files }) });
    const field = 'documents[1].content_base64';
    const text = await send(attach('a.pdf'), attach('b.pdf', Buffer.from('no document')));
    expectApiError(text, 415, 'documents[1] must be a PDF, JPEG or PNG file.', field);
    const large = await send(attach('a.pdf'), attach('b.pdf', Buffer.concat([documents.pdf, Buffer.alloc(5_242_880)])));
    expectApiError(large, 413, 'documents[1] exceeds the maximum size of 5 MB.', field);
  });
});
