import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createServer, type TLSSocket } from 'node:tls';
import { freePort } from '../../../scripts/freePort.ts';
import { until } from '../../journeys/support.ts';
import { test_authority, test_certificate } from './certificates.ts';

/** A receiver of syslog over TLS (RFC 5425) on this machine. */
export type SyslogReceiver = {
  port: number;
  /** The complete messages, in the order of their arrival. */
  messages(): Promise<string[]>;
  close(): Promise<void>;
};

/**
 * `read`: reads everything, and closes a connection after the sender. `crash`: closes each connection when its first
 * part arrives, as a server does that is killed. `early`: closes it at once, before anything was sent.
 */
export type SyslogBehavior = 'read' | 'crash' | 'early';

export type SyslogServer = SyslogReceiver & { behavior: SyslogBehavior; connections: number };

export async function startSyslogServer({ port = 0, client_certificate = false } = {}): Promise<SyslogServer> {
  const received: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer(
    {
      ...test_certificate,
      ca: test_authority,
      requestCert: client_certificate,
      rejectUnauthorized: client_certificate,
    },
    (socket) => {
      running.connections += 1;
      socket.on('error', () => {});
      if (running.behavior === 'read') return receive(socket, received);
      if (running.behavior === 'early') return void socket.end();
      socket.once('data', () => socket.destroy());
    },
  );
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
  });
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const running: SyslogServer = {
    port: (server.address() as AddressInfo).port,
    behavior: 'read',
    connections: 0,
    messages: async () => [...received],
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
  return running;
}

function receive(socket: TLSSocket, received: string[]): void {
  let unread = Buffer.alloc(0);
  socket.on('data', (part: Buffer) => {
    unread = Buffer.concat([unread, part]);
    for (;;) {
      const [head, digits] = /^(\d+) /.exec(unread.subarray(0, 12).toString('latin1')) ?? [];
      if (head === undefined || unread.length < head.length + Number(digits)) return;
      received.push(unread.subarray(head.length, head.length + Number(digits)).toString('utf8'));
      unread = unread.subarray(head.length + Number(digits));
    }
  });
}

/** The program of Debian's package rsyslog, and its TLS driver (rsyslog-gnutls); undefined where they are not installed. */
export function findRsyslog(): { program: string; driver: string } | undefined {
  const folders = ['/usr/sbin', '/sbin', ...(process.env.PATH ?? '').split(delimiter)];
  const program = folders.map((folder) => join(folder, 'rsyslogd')).find((path) => existsSync(path));
  const libraries = ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/lib64', '/usr/lib'];
  const has = (driver: string) => libraries.some((folder) => existsSync(join(folder, 'rsyslog', `lmnsd_${driver}.so`)));
  const driver = ['gtls', 'ossl'].find(has);
  return program !== undefined && driver !== undefined ? { program, driver } : undefined;
}

/** Runs rsyslog, which accepts only the certificate of the tests. */
export async function startRsyslog({ program, driver }: { program: string; driver: string }): Promise<SyslogReceiver> {
  const folder = await mkdtemp(join(process.env.CHARTWIRE_TEST_ROOT ?? tmpdir(), 'rsyslog-'));
  const file = (name: string) => join(folder, name);
  const port = await freePort();
  await writeFile(file('ca.pem'), test_authority);
  await writeFile(file('cert.pem'), test_certificate.cert);
  await writeFile(file('key.pem'), test_certificate.key, { mode: 0o600 });
  await writeFile(
    file('rsyslog.conf'),
    `global(workDirectory="${folder}" maxMessageSize="64k" defaultNetstreamDriver="${driver}"
  defaultNetstreamDriverCAFile="${file('ca.pem')}" defaultNetstreamDriverCertFile="${file('cert.pem')}"
  defaultNetstreamDriverKeyFile="${file('key.pem')}")
module(load="imtcp" streamDriver.name="${driver}" streamDriver.mode="1" streamDriver.authMode="x509/name"
  permittedPeer=["localhost"])
template(name="raw" type="string" string="<%pri%>%protocol-version% %timestamp:::date-rfc3339% %hostname% %app-name% %procid% %msgid% %structured-data% %msg%\\n")
action(type="omfile" file="${file('messages')}" template="raw")
input(type="imtcp" port="${port}" address="127.0.0.1")
`,
  );
  const child = spawn(program, ['-n', '-f', file('rsyslog.conf'), '-i', file('pid')], { stdio: 'ignore' });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  await until('rsyslog has started', async () => existsSync(file('pid')));
  return {
    port,
    messages: async () => {
      const text = await readFile(file('messages'), 'utf8').catch(() => '');
      return text.split('\n').filter((line) => line !== '');
    },
    close: async () => {
      child.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true });
    },
  };
}
