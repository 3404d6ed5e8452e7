import { lookup as systemLookup } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { Agent, Pool } from 'undici';
import { parseUrl } from '../../catalog/parseUrl.ts';
import { isWithin, private_address, reachOf, refusalOf, type UrlRules } from './addresses.ts';
import { exchange, type OutboundRequest, type OutboundResponse } from './exchange.ts';
import { OutboundFailure } from './outboundFailure.ts';

export type { OutboundRequest, OutboundResponse } from './exchange.ts';
export { OutboundFailure, type OutboundFailureKind } from './outboundFailure.ts';

export type Outbound = {
  /** One HTTP exchange with a URL chosen by a caller. Redirects are returned, never followed. */
  fetch(url: string | URL, request: OutboundRequest): Promise<OutboundResponse>;
  /** Waits for requests in progress, then closes idle connections. */
  close(): Promise<void>;
};

/** All addresses of a host name. */
export type Lookup = (hostname: string) => Promise<{ address: string; family: number }[]>;

/**
 * The only client for URLs chosen by callers (webhooks, EMRs). A name is resolved once per connection, all its addresses
 * are checked, and the connection goes to those addresses, which rules out DNS rebinding. Keep-alive connections are safe
 * for the same reason: they stay with the checked address, and every new connection is checked again. TLS still verifies
 * the host name.
 */
export function createOutbound(rules: UrlRules & { lookup?: Lookup }): Outbound {
  const lookup = rules.lookup ?? ((hostname) => systemLookup(hostname, { all: true }));
  const agent = new Agent({
    // `exchange` has one timeout for everything, so undici's own are off.
    headersTimeout: 0,
    bodyTimeout: 0,
    // One pool per origin: which addresses are allowed depends on host and port, and a lookup does not know the port.
    factory: (origin, options) =>
      new Pool(origin, {
        ...options,
        connect: { timeout: connect_timeout_ms, lookup: guardedLookup(new URL(origin), rules, lookup) },
      }),
  });
  return {
    fetch: async (address, request) => {
      // Node's own error would contain the whole URL with its query.
      const url = parseUrl(String(address));
      if (!url) throw new OutboundFailure('refused_address', 'The address is not a URL.');
      // Checked here because there is no lookup for a host that is an IP address.
      const refused = refusalOf(url, rules);
      if (refused !== undefined) throw new OutboundFailure('refused_address', `${url.host} ${refused}`);
      return exchange(agent, url, request);
    },
    close: () => agent.close(),
  };
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
        const reach = reachOf(origin, rules);
        if (!addresses.every(({ address }) => isWithin(reach, address))) {
          throw new OutboundFailure('refused_address', `${origin.host} ${private_address}`);
        }
        return () => (options.all ? callback(null, addresses) : callback(null, first.address, first.family));
      })
      .catch((error: NodeJS.ErrnoException) => () => callback(error, []))
      .then((respond) => respond());
  };
}
