import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../../scripts/freePort.ts';
import { pingScanner } from '../../../src/platform/security/documentScanner.ts';
import { until } from '../../journeys/support.ts';

/** What the scanners of the tests take for a virus. */
export const infection = 'chartwire test infection 7f3a';
export const stream_bytes_max = 1_000_000;

/** A scanner on this machine that finds `infection`, and takes files of up to `stream_bytes_max` bytes. */
export type RunningScanner = { host: string; port: number; close(): Promise<void> };

/**
 * `split`: sends its response byte by byte. `silent`: never responds. `drop`: closes the connection without a response.
 * `nonsense`: responds with something else. `truncated`: dies in the middle of its response.
 */
export type ScannerBehavior = 'scan' | 'split' | 'silent' | 'drop' | 'nonsense' | 'truncated';

export type ScannerServer = RunningScanner & { behavior: ScannerBehavior; scanned: Buffer[] };

/** A server with the protocol of clamd, where clamd is not installed, and for what clamd does only rarely. */
export async function startScannerServer(port = 0): Promise<ScannerServer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    let unread = Buffer.alloc(0);
    let started = false;
    const content: Buffer[] = [];
    socket.on('data', (part: Buffer) => {
      unread = Buffer.concat([unread, part]);
      if (unread.toString('latin1') === 'zPING\0') return void socket.end('PONG\0');
      if (!started && unread.subarray(0, 10).toString('latin1') === 'zINSTREAM\0') {
        started = true;
        unread = unread.subarray(10);
      }
      while (started && unread.length >= 4 && unread.length >= 4 + unread.readUInt32BE()) {
        const length = unread.readUInt32BE();
        if (length === 0) return respond(socket, Buffer.concat(content));
        content.push(unread.subarray(4, 4 + length));
        unread = unread.subarray(4 + length);
        if (content.reduce((sum, chunk) => sum + chunk.length, 0) > stream_bytes_max) {
          return void socket.end('INSTREAM size limit exceeded. ERROR\0');
        }
      }
    });
  });
  const respond = (socket: Socket, content: Buffer) => {
    running.scanned.push(content);
    const response = content.includes(infection) ? 'stream: Test.Infection.UNOFFICIAL FOUND\0' : 'stream: OK\0';
    if (running.behavior === 'scan') return void socket.end(response);
    if (running.behavior === 'drop') return void socket.destroy();
    if (running.behavior === 'nonsense') return void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
    if (running.behavior === 'truncated') return void socket.end('stream: O');
    if (running.behavior === 'split') {
      socket.setNoDelay(true);
      const send = (at: number) =>
        void (at < response.length ? socket.write(response[at] ?? '', () => send(at + 1)) : socket.end());
      send(0);
    }
  };
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const running: ScannerServer = {
    host: '127.0.0.1',
    port: (server.address() as AddressInfo).port,
    behavior: 'scan',
    scanned: [],
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
  return running;
}

/** Whether Debian's package clamav-daemon is installed. */
export const has_clamd = existsSync('/usr/sbin/clamd');

/** Runs clamd with a database of one signature, for `infection`. */
export async function startClamd(): Promise<RunningScanner> {
  const folder = await mkdtemp(join(process.env.CHARTWIRE_TEST_ROOT ?? tmpdir(), 'clamd-'));
  // clamd started by root reads its files as another user.
  await chmod(folder, 0o755);
  const scanner = { host: '127.0.0.1', port: await freePort() };
  await writeFile(join(folder, 'test.ndb'), `Test.Infection:0:*:${Buffer.from(infection).toString('hex')}\n`);
  await writeFile(
    join(folder, 'clamd.conf'),
    `Foreground yes
DatabaseDirectory ${folder}
TCPSocket ${scanner.port}
TCPAddr ${scanner.host}
StreamMaxLength ${stream_bytes_max}
`,
  );
  const child = spawn('/usr/sbin/clamd', ['--config-file', join(folder, 'clamd.conf')], { stdio: 'ignore' });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  await until('clamd to respond', () =>
    pingScanner(scanner).then(
      () => true,
      () => false,
    ),
  );
  return {
    ...scanner,
    close: async () => {
      child.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true });
    },
  };
}
