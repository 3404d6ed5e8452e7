import type * as fhirTypes from 'fhir/r4.js';
import { type EmrEndpoint, EmrFailure, type EmrWrite, type Operations } from '../../../src/connectors/connector.ts';
import { fhir } from '../../../src/connectors/fhir/fhir.ts';
import { OutboundFailure } from '../../../src/security/outbound.ts';
import type { FhirServer } from '../../harness/fhir/startFhirServer.ts';
import { openEndpoint } from '../larkspur/fixture.ts';
import { bySecret, signedIn } from './fixture.ts';

export const timezone = 'America/New_York';

export type Charts = {
  /** Everything the connector offers on this server; what it does not offer is not there. */
  emr: Operations;
  /** Lets the n-th request from now on (1 is the next) be lost, before it arrives or after it was carried out. */
  lose: (n: number, when: 'before' | 'after') => void;
  /** Does something once, right before the next request of this method. */
  before: (method: string, work: () => Promise<void>) => void;
  /** How many requests were made since the last question. */
  requests: () => number;
};

/** An account of this server as it is now: what it offers is found out anew. */
export async function openCharts(server: FhirServer): Promise<Charts> {
  const credentials = bySecret(server);
  const { grant } = await signedIn(openEndpoint(server.url), credentials);
  const plain = openEndpoint(server.url);
  let [made, lost] = [0, { n: 0, when: 'before' }];
  let due: { method: string; work: () => Promise<void> } | undefined;
  const fetch: EmrEndpoint['outbound']['fetch'] = async (url, request) => {
    made++;
    if (due?.method === request.method) {
      const { work } = due;
      due = undefined;
      await work();
    }
    const hit = made === lost.n;
    if (hit && lost.when === 'before') throw new OutboundFailure('broken', 'lost on its way', { sent: true });
    const answer = await plain.outbound.fetch(url, request);
    if (hit) throw new OutboundFailure('broken', 'the answer was lost', { sent: true });
    return answer;
  };
  const endpoint = { ...plain, outbound: { ...plain.outbound, fetch } };
  const opened = fhir.open(endpoint, { credentials, grant, timezone, saveGrant: async () => {} });
  return {
    // A test that uses what is not offered fails by that.
    emr: opened as Operations,
    lose: (n, when) => {
      [made, lost] = [0, { n, when }];
    },
    before: (method, work) => {
      due = { method, work };
    },
    requests: () => {
      const before = made;
      made = 0;
      return before;
    },
  };
}

/** Carries a write out as a job does: what may have arrived is asked for before it is sent again. */
export async function carryOut<In, Out>(write: EmrWrite<In, Out>, input: In, marker: string): Promise<Out> {
  let uncertain = false;
  for (let tries = 0; tries < 5; tries++) {
    try {
      if (uncertain) {
        if (!write.find) throw new Error('It cannot be asked for.');
        const found = await write.find(marker, input);
        if (found) return found;
      }
      return await write.send(input, marker);
    } catch (error) {
      if (!(error instanceof EmrFailure) || !['unavailable', 'unknown_outcome'].includes(error.kind)) throw error;
      uncertain ||= error.kind === 'unknown_outcome';
    }
  }
  throw new Error('It never came to an end.');
}

/** The records of a type that a write of ours has made, by its marker and those of its parts. */
export async function markedBy<T extends fhirTypes.FhirResource>(
  server: FhirServer,
  type: T['resourceType'],
  marker: string,
): Promise<T[]> {
  const all = await server.resources<T>(type);
  return all.filter((resource) => {
    const { identifier = [] } = resource as { identifier?: fhirTypes.Identifier[] };
    return identifier.some(({ value }) => value?.startsWith(marker));
  });
}
