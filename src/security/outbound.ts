import { lookup as systemLookup } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { Agent, Pool } from 'undici';
import { isWithin, private_address, reachOf, refusalOf, type UrlRules } from './addresses.ts';
import { exchange, type OutboundRequest, type OutboundResponse } from './exchange.ts';
import { OutboundFailure } from './outboundFailure.ts';

export type { OutboundRequest, OutboundResponse } from './exchange.ts';
export { OutboundFailure, type OutboundFailureKind } from './outboundFailure.ts';

export type Outbound = {
  /** One HTTP exchange with an address that a caller chose. Redirects are answers like any other, never followed. */
  fetch(url: string | URL, request: OutboundRequest): Promise<OutboundResponse>;
  /** Waits for the calls under way, then closes the kept connections. */
  close(): Promise<void>;
};

/** All addresses of a host name. */
export type Lookup = (hostname: string) => Promise<{ address: string; family: number }[]>;

/**
 * The only way out to addresses that callers chose (webhook URLs, EMR addresses). A name is resolved once for each
 * connection, all its addresses are checked, and the connection goes to those very addresses: DNS has no second say.
 * Kept connections are safe for the same reason: an open connection stays with the address that was checked, whatever
 * DNS answers later, and a new connection is checked anew. The host name stays what TLS verifies.
 */
export function createOutbound(rules: UrlRules & { lookup?: Lookup }): Outbound {
  const lookup = rules.lookup ?? ((hostname) => systemLookup(hostname, { all: true }));
  const agent = new Agent({
    // `exchange` has one clock for the whole call, so undici's own for head and body are off.
    headersTimeout: 0,
    bodyTimeout: 0,
    // A pool for each origin: what a host may resolve to depends on its name and port, which a lookup is not told.
    factory: (origin, options) =>
      new Pool(origin, {
        ...options,
        connect: { timeout: connect_timeout_ms, lookup: guardedLookup(new URL(origin), rules, lookup) },
      }),
  });
  return {
    fetch: async (address, request) => {
      // Node's own error would carry the whole text, query and all.
      if (!URL.canParse(String(address))) throw new OutboundFailure('refused_address', 'The address is not a URL.');
      const url = new URL(address);
      // Here and not in the lookup: no name is looked up for a host that is written as an address.
      const refused = refusalOf(url, rules);
      if (refused !== undefined) throw new OutboundFailure('refused_address', `${url.host} ${refused}`);
      return exchange(agent, url, request);
    },
    close: () => agent.close(),
  };
}

/** Shorter than the shortest total timeout in use (15 s, webhooks), so that an unreachable host is told from a slow one. */
const connect_timeout_ms = 10_000;

/** One bad answer among good ones refuses the name: an honest name has no private address beside a public one. */
function guardedLookup(origin: URL, rules: UrlRules, lookup: Lookup): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname)
      .then((answers) => {
        const [first] = answers;
        if (!first) throw Object.assign(new Error('no address'), { code: 'ENOTFOUND' });
        const reach = reachOf(origin, rules);
        if (!answers.every(({ address }) => isWithin(reach, address))) {
          throw new OutboundFailure('refused_address', `${origin.host} ${private_address}`);
        }
        return () => (options.all ? callback(null, answers) : callback(null, first.address, first.family));
      })
      .catch((error: NodeJS.ErrnoException) => () => callback(error, []))
      .then((answer) => answer());
  };
}
