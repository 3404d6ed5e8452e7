import { once } from 'node:events';
import { connect } from 'node:net';
import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { endConnectionsOnClose } from '../../../src/http/limits/connections.ts';

test('the response to a running request closes its connection, so that closing does not wait for it', async () => {
  const server = Fastify();
  endConnectionsOnClose(server);
  let arrived = () => {};
  let letGo = () => {};
  const waiting = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const free = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  server.get('/slow', async () => {
    arrived();
    await free;
    return 'done';
  });
  await server.listen({ port: 0, host: '127.0.0.1' });
  const { port } = server.server.address() as { port: number };
  // A caller that keeps the connection alive: neither it nor the server's 72 s may delay closing.
  const caller = connect(port, '127.0.0.1');
  let response = '';
  caller.on('data', (chunk) => {
    response += chunk;
  });
  caller.write('GET /slow HTTP/1.1\r\nhost: here\r\n\r\n');
  await waiting;
  const closed_by_server = once(caller, 'close');
  const closed = server.close();
  // The server no longer listens: closing has started, and idle connections are closed.
  await expect.poll(() => server.server.listening).toBe(false);
  letGo();
  await Promise.all([closed, closed_by_server]);
  expect(response).toMatch(/^HTTP\/1\.1 200 /);
  expect(response).toMatch(/^connection: close\r$/m);
  expect(response).toMatch(/done$/);
});
