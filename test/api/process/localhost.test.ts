import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../../scripts/freePort.ts';
import { loadConfig } from '../../../src/catalog/settings/config.ts';
import { startSandbox } from '../../harness/sandbox.ts';

const page = { accept: 'text/html,application/xhtml+xml' };

async function startOnLocalhost() {
  const port = await freePort();
  const fixture = await startSandbox({ small: true, env: { HOST: 'localhost', PORT: `${port}` } });
  onTestFinished(fixture.close);
  return { fixture, port };
}

test('a sandbox is called localhost and listens on both loopback addresses', async () => {
  const { fixture, port } = await startOnLocalhost();
  expect(fixture.sandbox.base_url).toBe(`http://localhost:${port}`);
  for (const host of ['localhost', '127.0.0.1', '[::1]']) {
    const response = await fetch(`http://${host}:${port}/healthz`);
    expect({ host, status: response.status }).toStrictEqual({ host, status: 200 });
  }
});

test('a page that is opened by address is sent to its name, with its path and query', async () => {
  const { port } = await startOnLocalhost();
  const open = async (host: string, path: string, headers: Record<string, string> = page) => {
    const response = await fetch(`http://${host}:${port}${path}`, { headers, redirect: 'manual' });
    return [response.status, response.headers.get('location')];
  };
  const name = `http://localhost:${port}`;
  expect(await open('127.0.0.1', '/dashboard/jobs?state=failed')).toStrictEqual([
    307,
    `${name}/dashboard/jobs?state=failed`,
  ]);
  expect(await open('[::1]', '/docs')).toStrictEqual([307, `${name}/docs`]);
  expect(await open('127.0.0.1', '//evil.example.org/docs')).not.toContain(307);
  // As a client of a proxy writes it.
  const socket = connect(port, '127.0.0.1');
  socket.end(
    `GET http://127.0.0.1:${port}/docs HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\naccept: text/html\r\nconnection: close\r\n\r\n`,
  );
  expect(await text(socket)).not.toMatch(/^location:/im);
  expect(await open('localhost', '/docs')).toStrictEqual([200, null]);
  // Programs, and the pages of Link, which other sites open.
  expect(await open('127.0.0.1', '/docs', { accept: '*/*' })).toStrictEqual([200, null]);
  expect((await open('127.0.0.1', '/link/unknown'))[0]).not.toBe(307);
  expect((await open('127.0.0.1', '/v1/providers'))[0]).toBe(401);
});

test('a page is not redirected from another port, which a tunnel may have opened', async () => {
  const { port } = await startOnLocalhost();
  const tunnel = createServer((from) => {
    const to = connect(port, '127.0.0.1');
    from.pipe(to).pipe(from);
    for (const socket of [from, to]) socket.on('error', () => {});
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void tunnel.close());
  await once(tunnel, 'listening');
  const { port: tunnel_port } = tunnel.address() as { port: number };
  const response = await fetch(`http://127.0.0.1:${tunnel_port}/docs`, {
    headers: { ...page, connection: 'close' },
    redirect: 'manual',
  });
  expect(response.status).toBe(200);
});

test('another program on the second loopback address is reported, because browsers may reach it instead', async () => {
  const port = await freePort();
  const other = createServer().listen(port, '::1');
  onTestFinished(() => void other.close());
  await once(other, 'listening');
  await expect(startSandbox({ small: true, env: { HOST: 'localhost', PORT: `${port}` } })).rejects.toThrow(
    `Port ${port} is already in use. Stop the program that uses it, or set PORT to another port.`,
  );
});

test('stopping ends the connections of both addresses', async () => {
  const port = await freePort();
  const fixture = await startSandbox({ small: true, env: { HOST: 'localhost', PORT: `${port}` } });
  await Promise.all(['127.0.0.1', '[::1]'].map((host) => fetch(`http://${host}:${port}/healthz`)));
  await fixture.close();
  for (const host of ['127.0.0.1', '[::1]']) {
    await expect(fetch(`http://${host}:${port}/healthz`)).rejects.toThrow('fetch failed');
  }
});

test('outside the sandbox the service listens on 127.0.0.1 unless HOST says otherwise', () => {
  const production = { NODE_ENV: 'production', MASTER_KEY: 'ab'.repeat(32) };
  expect(loadConfig(production)).toMatchObject({ host: '127.0.0.1', base_url: 'http://127.0.0.1:4000' });
  expect(loadConfig({})).toMatchObject({ host: 'localhost', base_url: 'http://localhost:4000' });
  expect(loadConfig({ HOST: '127.0.0.1' }).base_url).toBe('http://127.0.0.1:4000');
});
