import { createHash } from 'node:crypto';
import * as tls from 'node:tls';
import type { Agent } from 'undici';

/** What a connection uses beyond the defaults: a certificate of ours, and authorities besides the public ones. */
export type TlsIdentity = {
  /** A webhook endpoint or an EMR app. Connections are never shared with another one, or without one. */
  owner: string;
  certificate?: string | undefined;
  private_key?: string | undefined;
  ca_certificates?: string | undefined;
};

export type IdentityAgents = {
  /** The agent for requests with an identity, or without one. Use it at once: one that is idle is closed. */
  find(identity: TlsIdentity | undefined): Agent;
  close(): Promise<void>;
};

/** Bounds the memory that connections take; an identity that is used again opens new ones. */
const agents_max = 500;
/** After a rotation, the connections and the key of the earlier certificate are kept no longer than this. */
const idle_ms = 300_000;

/**
 * One agent per identity. Its connections and TLS sessions are used by nobody else, and by itself only as long as its
 * certificate and key stay the same.
 */
export function createIdentityAgents(
  open: (secure_context: tls.SecureContext | undefined) => Agent,
  now: () => number = () => performance.now(),
): IdentityAgents {
  const plain = open(undefined);
  // In the order of their last use.
  const agents = new Map<string, { agent: Agent; used_at: number }>();
  const closing = new Set<Promise<void>>();
  const release = (key: string, agent: Agent) => {
    agents.delete(key);
    // Ends after its running requests. One that cannot be closed has failed already.
    const closed = agent.close().catch(() => {});
    closing.add(closed);
    void closed.finally(() => closing.delete(closed));
  };
  return {
    find: (identity) => {
      if (!identity) return plain;
      const key = toKey(identity);
      const agent = agents.get(key)?.agent ?? open(createContext(identity));
      agents.delete(key);
      for (const [other, { agent, used_at }] of agents) {
        if (agents.size < agents_max && used_at > now() - idle_ms) break;
        release(other, agent);
      }
      agents.set(key, { agent, used_at: now() });
      return agent;
    },
    close: async () => {
      for (const [key, { agent }] of agents) release(key, agent);
      await Promise.all([plain.close(), ...closing]);
    },
  };
}

/** A hash, because the key is part of it. */
function toKey({ owner, certificate, private_key, ca_certificates }: TlsIdentity): string {
  const text = JSON.stringify([owner, certificate, private_key, ca_certificates]);
  return createHash('sha256').update(text).digest('base64');
}

function createContext({ certificate: cert, private_key: key, ca_certificates }: TlsIdentity): tls.SecureContext {
  return tls.createSecureContext({
    ...(cert !== undefined && { cert, key }),
    ...(ca_certificates !== undefined && { ca: [...listAuthorities(), ca_certificates] }),
  });
}

/** Since Node 22.15 with those of NODE_EXTRA_CA_CERTS. */
function listAuthorities(): readonly string[] {
  const { getCACertificates } = tls as { getCACertificates?: (type: 'default') => string[] };
  return getCACertificates?.('default') ?? tls.rootCertificates;
}
