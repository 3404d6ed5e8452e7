import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { afterEach, describe, expect, test } from 'vitest';
import {
  createOutbound,
  type Lookup,
  type Outbound,
  OutboundFailure,
  type OutboundRequest,
} from '../../src/platform/security/outbound.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});

const get: OutboundRequest = { method: 'GET', timeout_ms: 5000, response_bytes_max: 65_536 };
const post: OutboundRequest = {
  ...get,
  method: 'POST',
  body: '{"a":1}',
  headers: { 'content-type': 'application/json' },
};

describe('a request', () => {
  test('sends method, path, headers and body and returns status, headers and body', async () => {
    const { url } = await serve(async (request, response) => {
      const body = (await request.toArray()).join('');
      response.writeHead(201, { 'x-one': '1', 'x-two': ['a', 'b'] });
      response.end(
        JSON.stringify({ method: request.method, url: request.url, type: request.headers['content-type'], body }),
      );
    });
    const response = await sandbox().fetch(`${url}/hook?x=1`, post);
    expect(response).toMatchObject({ status: 201, truncated: false, headers: { 'x-one': '1', 'x-two': 'a, b' } });
    const expected = { method: 'POST', url: '/hook?x=1', type: 'application/json', body: '{"a":1}' };
    expect(JSON.parse(response.body.toString())).toEqual(expected);
  });

  test('does not follow redirects', async () => {
    const target = await serve((_, response) => response.end('inside'));
    const { url } = await serve((_, response) => response.writeHead(302, { location: target.url }).end());
    expect(await sandbox().fetch(url, get)).toMatchObject({ status: 302, headers: { location: target.url } });
    expect(target.connections()).toBe(0);
  });

  test('ignores informational responses', async () => {
    const { url } = await serve((_, response) => {
      response.writeEarlyHints({ link: '</a>; rel=preload' });
      response.end('done');
    });
    expect(await sandbox().fetch(url, get)).toMatchObject({ status: 200, body: Buffer.from('done') });
  });

  test('truncates an endless response at the limit and closes the connection', async () => {
    let closed: Promise<unknown> | undefined;
    const { url } = await serve((request, response) => {
      // `once` would reject on the reset that precedes the close.
      closed = new Promise((done) => request.socket.on('close', done));
      const write = () => {
        while (!response.destroyed && response.write('x'.repeat(10_000)));
      };
      response.on('drain', write);
      write();
    });
    const response = await sandbox().fetch(url, { ...get, response_bytes_max: 25_001 });
    expect(response).toMatchObject({ status: 200, truncated: true });
    expect(response.body).toHaveLength(25_001);
    await closed;
  });

  test.each([
    [9, true],
    [10, false],
    [11, false],
  ])('a response of ten bytes with a limit of %i is truncated: %s', async (response_bytes_max, truncated) => {
    const { url } = await serve((_, response) => response.end('0123456789'));
    expect((await sandbox().fetch(url, { ...get, response_bytes_max })).truncated).toBe(truncated);
  });

  test.each([
    ['with a content length', true],
    ['in chunks', false],
  ])('hands out a large response %s in parts, the next one when the receiver is done', async (_how, has_length) => {
    const sent = Buffer.from(Array.from({ length: 200_000 }, (_, n) => `line ${n}\n`).join(''));
    const { url } = await serve((_request, response) => {
      if (has_length) response.setHeader('content-length', sent.length);
      for (let at = 0; at < sent.length; at += 300_000) response.write(sent.subarray(at, at + 300_000));
      response.end();
    });
    const parts: Buffer[] = [];
    let receiving = 0;
    const receive = async (part: Buffer) => {
      receiving++;
      expect(receiving).toBe(1);
      parts.push(Buffer.from(part));
      // Lets the event loop turn, as writing to a database does.
      await new Promise((done) => setImmediate(done));
      receiving--;
    };
    const response = await sandbox().fetch(url, { ...get, response_bytes_max: 10_000_000, receive });
    expect(response).toMatchObject({ status: 200, truncated: false, body: Buffer.alloc(0) });
    expect(Buffer.concat(parts).equals(sent)).toBe(true);
  });

  test('reuses connections to the same origin', async () => {
    const { url, connections } = await serve((_, response) => response.end('ok'));
    const outbound = sandbox();
    for (let call = 0; call < 20; call++) await outbound.fetch(url, post);
    // Two, not one: undici frees a connection shortly after it returns the response.
    expect(connections()).toBeLessThanOrEqual(2);
  });
});

describe('a failure', () => {
  test('a refused port, an unknown name or missing TLS is a failure before sending', async () => {
    const closed = await serve(() => {});
    await closed.close();
    expect(await failure(sandbox(), closed.url)).toMatchObject({
      kind: 'unreachable',
      sent: false,
      message: expect.stringContaining('refused the connection'),
    });

    const lost = createOutbound({
      sandbox: false,
      allow: [],
      lookup: () => Promise.reject(Object.assign(new Error(), { code: 'ENOTFOUND' })),
    });
    expect(await failure(lost, 'https://nowhere.example.org/')).toMatchObject({ kind: 'unreachable', sent: false });

    const plain = await serve(() => {});
    expect(await failure(sandbox(), plain.url.replace('http:', 'https:'))).toMatchObject({
      kind: 'unreachable',
      sent: false,
    });
  });

  test('a connection reset, a partial response or invalid HTTP is a failure after sending', async () => {
    const reset = await serve((request) => request.socket.resetAndDestroy());
    const partial = await serve((request, response) => {
      response.writeHead(200, { 'content-length': 100 });
      response.write('half');
      setTimeout(() => request.socket.destroy(), 20);
    });
    const garbage = await serveTcp((socket) => socket.once('data', () => socket.end('Jane Doe, 1 Main St\r\n\r\n')));
    for (const { url } of [reset, partial, garbage]) {
      const broken = await failure(sandbox(), `${url}/?token=secret`, post);
      expect(broken).toMatchObject({ kind: 'broken', sent: true, cause: undefined });
      expect(JSON.stringify([broken.message, broken])).not.toMatch(/secret|Jane|"a"/);
    }
  });

  test('slow headers and a slow body fail at the total timeout', async () => {
    const silent = await serve(() => {});
    const dripping = await serve((_, response) => {
      const drip = setInterval(() => response.write('.'), 20);
      response.on('close', () => clearInterval(drip));
    });
    for (const { url } of [silent, dripping]) {
      const late = await failure(sandbox(), url, { ...get, timeout_ms: 200 });
      expect(late).toMatchObject({ kind: 'timeout', sent: true, message: expect.stringContaining('within 0.2 s') });
    }
  });

  test('a name that resolves too late is a timeout without a request', async () => {
    const { url, requests } = await serve((_, response) => response.end());
    let resolve: (responses: { address: string; family: number }[]) => void = () => {};
    const lookup: Lookup = () => new Promise((done) => (resolve = done));
    const outbound = closeAfterTest(createOutbound({ sandbox: true, allow: [], lookup }));
    const late = await failure(outbound, url.replace('127.0.0.1', 'localhost'), { ...get, timeout_ms: 50 });
    expect(late).toMatchObject({ kind: 'timeout', sent: false });
    resolve([{ address: '127.0.0.1', family: 4 }]);
    await outbound.close();
    expect(requests()).toBe(0);
  });

  test('a request that cannot be sent: closed client, header injection, invalid URL', async () => {
    const { url, requests } = await serve((_, response) => response.end());
    const outbound = sandbox();
    const smuggling = { ...get, headers: { 'x-a': 'b\r\nx-c: d' } };
    expect(await failure(outbound, url, smuggling)).toMatchObject({ kind: 'unreachable', sent: false });
    expect(await failure(outbound, 'example.org/?token=x')).toMatchObject({ message: 'The address is not a URL.' });
    await outbound.close();
    expect(await failure(outbound, url)).toMatchObject({ kind: 'unreachable', sent: false });
    expect(requests()).toBe(0);
  });

  test('an aborted request reports whether it was sent', async () => {
    expect(await failure(sandbox(), 'http://localhost/', { ...get, signal: AbortSignal.abort() })).toMatchObject({
      kind: 'unreachable',
      sent: false,
    });
    const stop = new AbortController();
    const { url } = await serve(() => stop.abort());
    expect(await failure(sandbox(), url, { ...get, signal: stop.signal })).toMatchObject({
      kind: 'broken',
      sent: true,
    });
  });
});

describe('dangerous addresses', () => {
  test('a name is checked again at every connection (DNS rebinding)', async () => {
    const { url, connections } = await serve((_, response) => {
      response.setHeader('connection', 'close');
      response.end('fine');
    });
    const lookups_made: string[] = [];
    // The first address is allowed for a localhost name in the sandbox, later ones are not.
    const lookup: Lookup = async (hostname) => {
      lookups_made.push(hostname);
      return [{ address: lookups_made.length === 1 ? '127.0.0.1' : '10.0.0.1', family: 4 }];
    };
    const outbound = closeAfterTest(createOutbound({ sandbox: true, allow: [], lookup }));
    const target = url.replace('127.0.0.1', 'rebind.localhost');
    expect((await outbound.fetch(target, get)).status).toBe(200);
    for (let round = 0; round < 3; round++) {
      expect(await failure(outbound, target)).toMatchObject({
        kind: 'refused_address',
        sent: false,
        message: expect.stringContaining('points to a private or local address.'),
      });
    }
    expect(lookups_made).toEqual(Array(4).fill('rebind.localhost'));
    expect(connections()).toBe(1);
  });

  test('a name that resolves to loopback is refused outside the sandbox', async () => {
    const { url, connections } = await serve((_, response) => response.end('inside'));
    const lookup: Lookup = async () => [{ address: '127.0.0.1', family: 4 }];
    const outbound = closeAfterTest(createOutbound({ sandbox: false, allow: [], lookup }));
    const target = url.replace('http://127.0.0.1', 'https://rebind.example.org');
    expect(await failure(outbound, target)).toMatchObject({ kind: 'refused_address', sent: false });
    expect(connections()).toBe(0);
  });

  test('a name with one private address among public ones is refused', async () => {
    for (const bad of [
      '127.0.0.1',
      '10.0.0.1',
      '169.254.169.254',
      '::1',
      '::ffff:127.0.0.1',
      'fd00:ec2::254',
      '0.0.0.0',
      'nonsense',
    ]) {
      const lookup: Lookup = async () => [
        { address: '8.8.8.8', family: 4 },
        { address: bad, family: bad.includes(':') ? 6 : 4 },
      ];
      const outbound = closeAfterTest(createOutbound({ sandbox: false, allow: [], lookup }));
      expect(await failure(outbound, 'https://mixed.example.org/')).toMatchObject({
        kind: 'refused_address',
        sent: false,
      });
    }
  });

  test.each([
    'https://127.0.0.1',
    'https://0x7f.1',
    'https://2130706433',
    'https://[::1]',
    'https://[::ffff:127.0.0.1]',
    'https://localhost.',
    'https://169.254.169.254',
    'http://example.org',
    'https://a:b@example.org',
    'file:///etc/passwd',
  ])('%s is refused without a lookup or a connection', async (origin) => {
    const { port, connections } = await serve(() => {});
    const lookup: Lookup = () => Promise.reject(new Error('looked up'));
    const outbound = closeAfterTest(createOutbound({ sandbox: false, allow: [], lookup }));
    const url = new URL(origin);
    url.port = String(port);
    expect(await failure(outbound, url)).toMatchObject({ kind: 'refused_address', sent: false });
    expect(connections()).toBe(0);
  });

  test('the sandbox allows this machine only; a localhost name with another address is refused', async () => {
    const lookup: Lookup = async () => [{ address: '10.0.0.1', family: 4 }];
    const outbound = closeAfterTest(createOutbound({ sandbox: true, allow: [], lookup }));
    expect(await failure(outbound, 'http://evil.localhost/')).toMatchObject({ kind: 'refused_address' });
  });

  test('an allowed host may be private and use http, on its port only', async () => {
    const { url, port } = await serve((request, response) => response.end(request.headers.host));
    const other = await serve((_, response) => response.end('other'));
    const lookup: Lookup = async () => [{ address: '127.0.0.1', family: 4 }];
    const outbound = closeAfterTest(createOutbound({ sandbox: false, allow: [`emr.internal:${port}`], lookup }));
    const response = await outbound.fetch(`http://emr.internal:${port}/`, get);
    expect(response.body.toString()).toBe(`emr.internal:${port}`);
    expect(await failure(outbound, `https://emr.internal:${other.port}/`)).toMatchObject({ kind: 'refused_address' });
    expect(await failure(outbound, url)).toMatchObject({ kind: 'refused_address' });
    expect(other.connections()).toBe(0);
  });

  test('TLS uses the requested name at the checked address', async () => {
    const names: string[] = [];
    const server = createTlsServer({
      SNICallback: (name, done) => {
        names.push(name);
        done(new Error('no certificate'));
      },
    });
    server.on('tlsClientError', () => {});
    const port = await listen(server);
    const lookup: Lookup = async () => [{ address: '127.0.0.1', family: 4 }];
    const outbound = closeAfterTest(createOutbound({ sandbox: false, allow: ['emr.internal'], lookup }));
    expect(await failure(outbound, `https://emr.internal:${port}/`)).toMatchObject({
      kind: 'unreachable',
      sent: false,
    });
    expect(names).toEqual(['emr.internal']);
  });
});

function sandbox(): Outbound {
  return closeAfterTest(createOutbound({ sandbox: true, allow: [] }));
}

function closeAfterTest(outbound: Outbound): Outbound {
  closers.unshift(() => outbound.close().catch(() => {}));
  return outbound;
}

async function failure(outbound: Outbound, url: string | URL, request = get): Promise<OutboundFailure> {
  const outcome: unknown = await outbound.fetch(url, request).catch((error: unknown) => error);
  if (outcome instanceof OutboundFailure) return outcome;
  throw new Error('the call should have failed with an OutboundFailure', { cause: outcome });
}

async function serve(listener: RequestListener) {
  const server: Server = createServer(listener);
  let connections = 0;
  let requests = 0;
  server.on('connection', () => connections++);
  server.on('request', () => requests++);
  const port = await listen(server);
  const close = () => stop(server);
  return { url: `http://127.0.0.1:${port}`, port, close, connections: () => connections, requests: () => requests };
}

async function serveTcp(onSocket: (socket: Socket) => void): Promise<{ url: string }> {
  const port = await listen(createTcpServer(onSocket));
  return { url: `http://127.0.0.1:${port}` };
}

type AnyServer = ReturnType<typeof createTcpServer> & { closeAllConnections?: () => void };

async function listen(server: AnyServer): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => stop(server));
  const address = server.address();
  return typeof address === 'object' && address ? address.port : 0;
}

async function stop(server: AnyServer): Promise<void> {
  if (!server.listening) return;
  server.close();
  server.closeAllConnections?.();
  await once(server, 'close');
}
