import { connect, type TLSSocket } from 'node:tls';
import { OutboundFailure, stopped, type TlsFiles, timedOut, toOutboundFailure } from '../security/outbound.ts';

/** A syslog message (RFC 5424). */
export type SyslogMessage = {
  severity: 'warning' | 'info';
  at: Date;
  hostname: string;
  app_name: string;
  /** What kind of message it is. Only the first 32 characters are sent. */
  message_id: string;
  /** Numbers the messages, so that a receiver can drop duplicates and see gaps. */
  sequence: number;
  text: string;
};

export type SyslogServer = { host: string; port: number; tls: TlsFiles };

/** "log audit" of RFC 5424. */
const facility = 13;
const severities = { warning: 4, info: 6 } as const;
/** RFC 5424 allows no larger sequence ID, and continues with 1. */
const sequence_max = 2_147_483_647;
const byte_order_mark = '\uFEFF';

/** A message as sent by RFC 5425: its length in bytes, a space and the message. */
export function frameMessage(message: SyslogMessage): Buffer {
  const { severity, at, hostname, app_name, message_id, sequence, text } = message;
  const sequence_id = ((sequence - 1) % sequence_max) + 1;
  const header = [
    `<${facility * 8 + severities[severity]}>1`,
    at.toISOString(),
    toHeader(hostname, 255),
    toHeader(app_name, 48),
    '-',
    toHeader(message_id, 32),
    `[meta sequenceId="${sequence_id}"]`,
  ];
  const content = Buffer.from(`${header.join(' ')} ${byte_order_mark}${text}`, 'utf8');
  return Buffer.concat([Buffer.from(`${content.length} `, 'ascii'), content]);
}

/** Header fields consist of visible ASCII characters. */
function toHeader(value: string, length_max: number): string {
  return value.replaceAll(/[^!-~]/g, '_').slice(0, length_max) || '-';
}

const connect_timeout_ms = 10_000;
/** For a receiver that no longer reads, and for the end of the connection. */
const idle_timeout_ms = 30_000;
/** Longer than a packet takes both ways: what the receiver has closed before the messages arrived is seen by then. */
const settle_ms = 500;

/**
 * Sends messages over a connection of their own, and resolves when the receiver has read them all. Syslog has no
 * acknowledgement: that a receiver closes the connection in response to our end of it is the only sign. One that has
 * not read everything, or is killed, resets the connection, or has closed it before the messages had arrived.
 */
export function sendSyslog(server: SyslogServer, messages: readonly Buffer[], signal: AbortSignal): Promise<void> {
  return withConnection(server, signal, (socket, fail) => {
    const timers: NodeJS.Timeout[] = [];
    let ended = false;
    socket.once('close', () => timers.forEach(clearTimeout));
    socket.setTimeout(idle_timeout_ms, () => fail(timedOut(nameServer(server), idle_timeout_ms, true)));
    socket.once('end', () => {
      if (!ended) fail(lost(server, 'closed the connection before it had received everything'));
    });
    socket.write(Buffer.concat(messages), () => {
      timers.push(
        setTimeout(() => {
          ended = true;
          socket.end();
        }, settle_ms),
      );
    });
  });
}

/** Whether a server accepts a TLS connection with these certificates. Throws an OutboundFailure if not. */
export function checkTls(server: SyslogServer, signal: AbortSignal = new AbortController().signal): Promise<void> {
  return withConnection(server, signal, (socket) => void socket.end());
}

/** Opens a connection, and resolves when the other side has closed it without an error. */
function withConnection(
  server: SyslogServer,
  signal: AbortSignal,
  use: (socket: TLSSocket, fail: (failure: OutboundFailure) => void) => void,
): Promise<void> {
  const { host, port, tls } = server;
  const name = nameServer(server);
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(stopped(name, false));
    let connected = false;
    let closed_by_peer = false;
    const socket = connect({ host, port, ...tls, minVersion: 'TLSv1.2' });
    const fail = (failure: OutboundFailure) => {
      reject(failure);
      socket.destroy();
    };
    const onAbort = () => fail(stopped(name, connected));
    signal.addEventListener('abort', onAbort);
    const connecting = setTimeout(() => fail(timedOut(name, connect_timeout_ms, false)), connect_timeout_ms);
    socket.once('secureConnect', () => {
      connected = true;
      clearTimeout(connecting);
      // What a receiver sends has no meaning; unread, it would keep its end from being seen.
      socket.resume();
      use(socket, fail);
    });
    socket.once('end', () => {
      closed_by_peer = true;
    });
    socket.on('error', (error) => fail(toOutboundFailure(error, name, connected)));
    socket.once('close', () => {
      clearTimeout(connecting);
      signal.removeEventListener('abort', onAbort);
      // After a failure, this has no effect.
      if (connected && closed_by_peer) resolve();
      else reject(lost(server, 'closed the connection'));
    });
  });
}

function nameServer({ host, port }: SyslogServer): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function lost(server: SyslogServer, what: string): OutboundFailure {
  return new OutboundFailure('broken', `${nameServer(server)} ${what}.`, { sent: true });
}
