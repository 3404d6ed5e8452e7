import { lookup as systemLookup } from 'node:dns/promises';
import type { IncomingHttpHeaders } from 'node:http';
import type { LookupFunction } from 'node:net';
import type { SecureContext } from 'node:tls';
import { Agent, buildConnector, type Dispatcher, Pool } from 'undici';
import { recognizeCopies } from '../../catalog/classCopies.ts';
import { parseUrl } from '../../catalog/parseUrl.ts';
import { determineReach, explainRefusal, isWithin, private_address, type UrlRules } from './addresses.ts';
import { createIdentityAgents, type IdentityAgents, type TlsIdentity } from './tlsIdentity.ts';

export type Outbound = {
  /** One HTTP exchange with a URL chosen by a caller. Redirects are returned, never followed. */
  fetch(url: string | URL, request: OutboundRequest): Promise<OutboundResponse>;
  /** Waits for requests in progress, then closes idle connections. */
  close(): Promise<void>;
};

/** PEM texts: the authorities that are trusted instead of the public ones, and our own certificate with its key. */
export type TlsFiles = { ca?: string; cert?: string; key?: string };

/** All addresses of a host name. */
export type Lookup = (hostname: string) => Promise<{ address: string; family: number }[]>;

/**
 * The only client for URLs chosen by callers (webhooks, EMRs). A name is resolved once per connection, all its addresses
 * are checked, and the connection goes to those addresses, which rules out DNS rebinding. Keep-alive connections are safe
 * for the same reason: they stay with the checked address, and every new connection is checked again. TLS still verifies
 * the host name.
 */
export function createOutbound(rules: UrlRules & { lookup?: Lookup; tls?: TlsFiles | undefined }): Outbound {
  const lookup = rules.lookup ?? ((hostname) => systemLookup(hostname, { all: true }));
  const agents = createIdentityAgents(
    (secureContext) =>
      new Agent({
        // `exchange` has one timeout for everything, so undici's own are off.
        headersTimeout: 0,
        bodyTimeout: 0,
        // One pool per origin: which addresses are allowed depends on host and port, and a lookup does not know the port.
        factory: (origin, options) =>
          new Pool(origin, {
            ...options,
            connect: connectWith(secureContext, {
              ...rules.tls,
              timeout: connect_timeout_ms,
              lookup: guardedLookup(new URL(origin), rules, lookup),
            }),
          }),
      }),
  );
  return {
    fetch: async (address, request) => {
      // Node's own error would contain the whole URL with its query.
      const url = parseUrl(String(address));
      if (!url) throw new OutboundFailure('refused_address', 'The address is not a URL.');
      // Checked here because there is no lookup for a host that is an IP address.
      const refused = explainRefusal(url, rules);
      if (refused !== undefined) throw new OutboundFailure('refused_address', `${url.host} ${refused}`);
      return exchange(findAgent(agents, url, request.identity), url, request);
    },
    close: agents.close,
  };
}

/**
 * With TLS 1.3, a server refuses our certificate when the connection is already open, with an alert, and ends it. undici
 * would report the end in place of the alert.
 */
function connectWith(
  secureContext: SecureContext | undefined,
  options: buildConnector.BuildOptions,
): buildConnector.BuildOptions | buildConnector.connector {
  if (!secureContext) return options;
  const connect = buildConnector({ ...options, secureContext });
  return (to, callback) =>
    connect(to, (...[error, socket]) => {
      socket?.once('error', () => socket.removeAllListeners('end'));
      if (error) callback(error, null);
      else callback(null, socket);
    });
}

function findAgent(agents: IdentityAgents, url: URL, identity: TlsIdentity | undefined): Agent {
  try {
    return agents.find(identity);
  } catch {
    // OpenSSL's error, when it no longer accepts a key that was stored, may quote it.
    throw new OutboundFailure('unreachable', `The client certificate for ${url.host} cannot be used.`, {
      tls_problem: 'client_certificate',
    });
  }
}

/** Shorter than the shortest total timeout in use (15 s, webhooks), to distinguish unreachable hosts from slow ones. */
const connect_timeout_ms = 10_000;

/** Refuses the name if any of its addresses is refused: a legitimate name does not mix private and public addresses. */
function guardedLookup(origin: URL, rules: UrlRules, lookup: Lookup): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname)
      .then((addresses) => {
        const [first] = addresses;
        if (!first) throw Object.assign(new Error('no address'), { code: 'ENOTFOUND' });
        const reach = determineReach(origin, rules);
        if (!addresses.every(({ address }) => isWithin(reach, address))) {
          throw new OutboundFailure('refused_address', `${origin.host} ${private_address}`);
        }
        return () => (options.all ? callback(null, addresses) : callback(null, first.address, first.family));
      })
      .catch((error: NodeJS.ErrnoException) => () => callback(error, []))
      .then((respond) => respond());
  };
}

/**
 * - `refused_address`: the address is not allowed
 * - `unreachable`: DNS, connection or TLS failed; nothing was sent
 * - `timeout`: `sent` says whether the request had gone out
 * - `broken`: the request may have arrived, but no complete response came back
 */
export type OutboundFailureKind = 'refused_address' | 'unreachable' | 'timeout' | 'broken';

/**
 * Why a request got no response. The message contains the host name only, so it may be shown and logged.
 * `sent: false` means that the other side cannot have received the request; `true` that it may have.
 */
export class OutboundFailure extends Error {
  readonly kind: OutboundFailureKind;
  readonly sent: boolean;
  /** The host name, if it does not exist. A resolver that does not respond is not a reason to say so. */
  readonly unknown_host: string | undefined;
  /** Which certificate was refused in the TLS handshake: the server's by us, or ours by the server. */
  readonly tls_problem: TlsProblem | undefined;

  constructor(
    kind: OutboundFailureKind,
    message: string,
    details: {
      sent?: boolean;
      unknown_host?: string | undefined;
      tls_problem?: TlsProblem | undefined;
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause: details.cause });
    this.name = 'OutboundFailure';
    this.kind = kind;
    this.sent = details.sent ?? false;
    this.unknown_host = details.unknown_host;
    this.tls_problem = details.tls_problem;
  }
}

type TlsProblem = 'server_certificate' | 'client_certificate';

recognizeCopies(OutboundFailure, 'OutboundFailure');

export function timedOut(host: string, timeout_ms: number, sent: boolean): OutboundFailure {
  return new OutboundFailure('timeout', `${host} did not respond within ${timeout_ms / 1000} s.`, { sent });
}

/** Aborted by our side (a shutdown, a lost lease): the outcome is unknown if the request had been sent. */
export function stopped(host: string, sent: boolean): OutboundFailure {
  return new OutboundFailure(sent ? 'broken' : 'unreachable', `The request to ${host} was aborted.`, { sent });
}

/** Maps an error from undici, net or tls. */
export function toOutboundFailure(error: Error, host: string, sent: boolean): OutboundFailure {
  if (error instanceof OutboundFailure) return error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : 'unknown';
  // Refused within the handshake. With TLS 1.3 the client has sent its request by then, but the server has not read it.
  if (isClientRefusal(code)) {
    const message = `${host} did not accept the client certificate (${code}).`;
    return new OutboundFailure('unreachable', message, { tls_problem: 'client_certificate' });
  }
  // No cause after sending: undici's parser errors contain response bytes, which may be health data.
  if (sent) return new OutboundFailure('broken', `The connection to ${host} was lost (${code}).`, { sent });
  const untrusted = isCertificateError(code);
  const reason = reasons[code] ?? (untrusted ? 'has a certificate that is not trusted' : 'cannot be reached');
  const unknown_host = code === 'ENOTFOUND' ? host.replace(/:\d+$/, '') : undefined;
  const tls_problem = untrusted ? 'server_certificate' : undefined;
  return new OutboundFailure('unreachable', `${host} ${reason} (${code}).`, {
    ...{ cause: error, unknown_host, tls_problem },
  });
}

const reasons: Record<string, string> = {
  ENOTFOUND: 'could not be found',
  EAI_AGAIN: 'could not be resolved',
  ECONNREFUSED: 'refused the connection',
  UND_ERR_CONNECT_TIMEOUT: 'did not accept a connection in time',
};

/** Alerts of the server about our certificate, or that there was none. */
function isClientRefusal(code: string): boolean {
  return /^ERR_SSL_\w*ALERT_(\w*CERTIFICATE\w*|UNKNOWN_CA|ACCESS_DENIED|DECRYPT_ERROR)$/.test(code);
}

function isCertificateError(code: string): boolean {
  return /CERT|SELF_SIGNED|UNABLE_TO_(GET|VERIFY)/.test(code);
}

export type OutboundRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD';
  headers?: Record<string, string> | undefined;
  body?: string | Buffer | undefined;
  /** For the whole exchange: DNS, connection, TLS, request and complete response. */
  timeout_ms: number;
  signal?: AbortSignal | undefined;
  /**
   * The certificate to present, which the caller has decided to present to this host.
   *
   * @internal
   */
  identity?: TlsIdentity | undefined;
  /** A longer response is cut off here and its connection closed. */
  response_bytes_max: number;
  /** The same for status 400 and above. Default: `response_bytes_max`. */
  error_bytes_max?: number | undefined;
  /**
   * Receives the body of a response with status 200 in parts, of which the next is read when the promise of the last is
   * resolved. The body of the returned response is then empty.
   */
  receive?: ((part: Buffer) => Promise<void>) | undefined;
};

export type OutboundResponse = {
  status: number;
  /** Names in lower case; a header sent several times is joined with `, `. */
  headers: Record<string, string>;
  /** Never decompressed, so a small response cannot expand into a large one. */
  body: Buffer;
  truncated: boolean;
};

/**
 * One request and its response over undici's lowest-level interface, the only one that reports when the request was
 * handed to a connection. That moment separates "nothing was sent" from "may have arrived", which a write must know.
 *
 * @internal
 */
export function exchange(via: Dispatcher, url: URL, request: OutboundRequest): Promise<OutboundResponse> {
  const { method, timeout_ms, signal, response_bytes_max, error_bytes_max = response_bytes_max } = request;
  return new Promise((resolve, reject) => {
    let sent = false;
    let done = false;
    /** The response is decided, and waits only for its receiver: closing the connection no longer changes it. */
    let responded = false;
    let controller: Dispatcher.DispatchController | undefined;
    let head: Pick<OutboundResponse, 'status' | 'headers'> | undefined;
    const chunks: Buffer[] = [];
    let received_bytes = 0;
    let receiving: Promise<void> = Promise.resolve();

    const timer = setTimeout(() => fail(timedOut(url.host, timeout_ms, sent)), timeout_ms);
    const onAbort = () => fail(stopped(url.host, sent));

    function finish(settle: () => void): void {
      if (done) return;
      done = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      settle();
    }
    function fail(failure: OutboundFailure): void {
      finish(() => reject(failure));
      controller?.abort(failure);
    }
    function respond(truncated: boolean): void {
      const received = head;
      if (!received) return;
      responded = true;
      receiving.then(
        () => finish(() => resolve({ ...received, body: Buffer.concat(chunks), truncated })),
        () => {},
      );
    }
    function receive(from: Dispatcher.DispatchController, part: Buffer, to: (part: Buffer) => Promise<void>): void {
      from.pause();
      receiving = receiving.then(() => to(part));
      receiving.then(
        () => from.resume(),
        // An error of ours, such as a full disk, which is not a failure of the other side.
        (error: Error) => {
          finish(() => reject(error));
          from.abort(stopped(url.host, true));
        },
      );
    }

    if (signal?.aborted) return onAbort();
    signal?.addEventListener('abort', onAbort);
    const { headers = {}, body = null } = request;
    via.dispatch(
      { origin: url.origin, path: url.pathname + url.search, method, headers, body },
      {
        onRequestStart: (started) => {
          controller = started;
          // Aborted while waiting for a connection: undici writes nothing.
          if (done) return started.abort(stopped(url.host, false));
          sent = true;
        },
        onResponseStart: (_, status, fields) => {
          // 1xx responses precede the real one.
          if (status >= 200) head = { status, headers: joined(fields) };
        },
        onResponseData: (current, chunk) => {
          // undici repeats an empty part after each pause of a body with a content length: to pause again would never end.
          if (chunk.length === 0) return;
          const bytes_max = (head?.status ?? 0) >= 400 ? error_bytes_max : response_bytes_max;
          const part = chunk.subarray(0, bytes_max - received_bytes);
          received_bytes += part.length;
          if (head?.status === 200 && request.receive) receive(current, part, request.receive);
          else chunks.push(part);
          if (part.length === chunk.length) return;
          respond(true);
          current.abort(stopped(url.host, true));
        },
        onResponseEnd: () => respond(false),
        onResponseError: (_, error) => {
          if (!responded) finish(() => reject(toOutboundFailure(error, url.host, sent)));
        },
      },
    );
  });
}

function joined(fields: IncomingHttpHeaders): Record<string, string> {
  const entries = Object.entries(fields).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.join(', ') : value,
  ]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/** What a destination is for: where events, people with tokens in their address bar, or EMR credentials are sent. */
export type DestinationKind = 'webhook' | 'callback_url' | 'frame_origin' | 'emr_app' | 'emr';

/** A destination that was added (`old` is null), removed (`new` is null) or replaced. Part of an audit record. */
export type DestinationChange = { kind: DestinationKind; old: string | null; new: string | null };

const masked = '***';
const secret_length_min = 16;

/**
 * A URL as the audit log and alerts show it: scheme, host and path. User info, query and fragment are left out, and path
 * segments that look like a secret are masked: many receivers authenticate a sender by the URL alone.
 */
export function formatDestination(text: string): string {
  const url = parseUrl(text);
  // Names of hosts, with or without `*.`, are shown as they are.
  if (!url) return text.slice(0, 200);
  const path = url.pathname.split('/').map((segment) => (looksSecret(segment) ? masked : segment));
  return `${url.protocol}//${url.host}${url.pathname === '/' ? '' : path.join('/')}`;
}

/** The change from one URL to another, or null for none. Empty if nothing changed. */
export function destinationChange(
  kind: DestinationKind,
  before: string | null | undefined,
  after: string | null | undefined,
): DestinationChange[] {
  const [old_url, new_url] = [before ?? null, after ?? null];
  if (old_url === new_url) return [];
  return [{ kind, old: old_url && formatDestination(old_url), new: new_url && formatDestination(new_url) }];
}

/** The same for lists of URLs. */
export function destinationChanges(
  kind: DestinationKind,
  before: readonly string[],
  after: readonly string[],
): DestinationChange[] {
  const removed = before.filter((each) => !after.includes(each));
  const added = after.filter((each) => !before.includes(each));
  return [
    ...removed.flatMap((each) => destinationChange(kind, each, null)),
    ...added.flatMap((each) => destinationChange(kind, null, each)),
  ];
}

/** Long enough to be one, and not only words: with a digit, or with capitals after small letters. */
function looksSecret(segment: string): boolean {
  return segment.length >= secret_length_min && (/\d/.test(segment) || /[a-z][A-Z]/.test(segment));
}
