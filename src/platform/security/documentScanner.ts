import { connect } from 'node:net';

/** clamd, or a server with the same protocol. */
export type Scanner = { host: string; port: number };

export type ScanProblem = 'unavailable' | 'size_limit';

/** A document was not scanned. The message names the host only. */
export class ScannerFailure extends Error {
  readonly problem: ScanProblem;

  constructor(problem: ScanProblem, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'ScannerFailure';
    this.problem = problem;
  }
}

const connect_timeout_ms = 5_000;
/** Without any progress. clamd itself stops scanning a file after 120 s. */
const idle_timeout_ms = 130_000;
/** clamd reads a length, then as many bytes. */
const chunk_bytes = 65_536;
const response_bytes_max = 10_000;

/** Scans a document. Returns what it is infected with, or undefined if nothing was found. */
export async function scanDocument(
  scanner: Scanner,
  content: Buffer,
  signal: AbortSignal,
  idle_ms = idle_timeout_ms,
): Promise<string | undefined> {
  const parts: Buffer[] = [Buffer.from('zINSTREAM\0')];
  for (let at = 0; at < content.length; at += chunk_bytes) {
    const chunk = content.subarray(at, at + chunk_bytes);
    parts.push(Buffer.concat([toLength(chunk.length), chunk]));
  }
  parts.push(toLength(0));
  const response = await request(scanner, parts, signal, idle_ms);
  if (response === 'stream: OK') return undefined;
  const [, signature] = /^stream: (.+) FOUND$/.exec(response) ?? [];
  if (signature !== undefined) return signature.replaceAll(/[^\w.:() -]/g, '_').slice(0, 100);
  if (/size limit exceeded/i.test(response)) {
    const message = `The scanner at ${nameScanner(scanner)} accepts no document of this size. Raise its StreamMaxLength.`;
    throw new ScannerFailure('size_limit', message);
  }
  throw unavailable(scanner, 'gave no usable response');
}

/** Throws a ScannerFailure if the scanner does not respond. */
export async function pingScanner(scanner: Scanner): Promise<void> {
  const response = await request(
    scanner,
    [Buffer.from('zPING\0')],
    AbortSignal.timeout(connect_timeout_ms),
    connect_timeout_ms,
  );
  if (response !== 'PONG') throw unavailable(scanner, 'is no scanner that speaks the protocol of clamd');
}

/**
 * Sends a command and returns the response without its end marker. The response counts also if the scanner has closed
 * the connection before it had read everything, as clamd does with a document that is too large.
 */
function request(scanner: Scanner, parts: readonly Buffer[], signal: AbortSignal, idle_ms: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(scanner);
    const received: Buffer[] = [];
    let bytes = 0;
    const finish = (settle: () => void) => {
      clearTimeout(connecting);
      signal.removeEventListener('abort', onAbort);
      socket.destroy();
      settle();
    };
    const fail = (what: string, cause?: unknown) => finish(() => reject(unavailable(scanner, what, cause)));
    const respond = () => {
      const [response = ''] = Buffer.concat(received).toString('utf8').split('\0');
      finish(() => resolve(response.trim()));
    };
    const onAbort = () => fail('was not waited for');
    const connecting = setTimeout(() => fail('did not accept a connection in time'), connect_timeout_ms);
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort);
    socket.setTimeout(idle_ms, () => fail('did not respond in time'));
    // One part at a time, and what has arrived is read first: if the scanner has closed the connection, the next write
    // fails, and Node then drops the response that says why.
    const send = (at: number) => {
      const part = parts[at];
      if (part && !socket.destroyed) socket.write(part, () => setImmediate(send, at + 1));
    };
    socket.once('connect', () => {
      clearTimeout(connecting);
      send(0);
    });
    socket.on('data', (part: Buffer) => {
      received.push(part);
      bytes += part.length;
      if (part.includes(0)) respond();
      else if (bytes > response_bytes_max) fail('gave no usable response');
    });
    socket.once('end', () => (bytes > 0 ? respond() : fail('closed the connection without a response')));
    socket.once('error', (error: NodeJS.ErrnoException) =>
      bytes > 0 ? respond() : fail(`cannot be reached (${error.code ?? 'error'})`, error),
    );
  });
}

function toLength(length: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(length);
  return bytes;
}

function unavailable(scanner: Scanner, what: string, cause?: unknown): ScannerFailure {
  return new ScannerFailure('unavailable', `The scanner at ${nameScanner(scanner)} ${what}.`, cause);
}

function nameScanner({ host, port }: Scanner): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
