import type * as fhirTypes from 'fhir/r4.js';
import type { EmrEndpoint, Grant, SharedMarkers } from '../../../../src/emr/connector.ts';
import { EmrFailure } from '../../../../src/emr/emrFailure.ts';
import { fhir } from '../../../../src/emr/fhir/fhir.ts';
import type { EmrWrite } from '../../../../src/emr/operations/operation.ts';
import type { Operations } from '../../../../src/emr/operations/operations.ts';
import { OutboundFailure } from '../../../../src/platform/security/outbound.ts';
import type { FhirServer } from '../../../harness/fhir/startFhirServer.ts';
import { createEndpoint } from '../../larkspur/fixture.ts';
import { bySecret, signedIn } from '../fixture.ts';

export const timezone = 'America/New_York';

export type Charts = {
  /** Everything the connector supports on this server. */
  emr: Operations;
  /** Loses the n-th request from now on (1 is the next), before it arrives or after it was performed. */
  lose: (n: number, when: 'before' | 'after') => void;
  /** Runs something once, right before the next request of this method. */
  before: (method: string, work: () => Promise<void>) => void;
  /** How many requests were sent since the last call. */
  requests: () => number;
  /** The grant as last stored. */
  grant: () => Grant;
};

/** Links an account to the server in its current state. */
export async function linkCharts(server: FhirServer, shared_markers?: SharedMarkers): Promise<Charts> {
  const credentials = bySecret(server);
  const { grant } = await signedIn(createEndpoint(server.url), credentials);
  const endpoint_plain = createEndpoint(server.url);
  let [requests_sent, lost] = [0, { n: 0, when: 'before' }];
  let due: { method: string; work: () => Promise<void> } | undefined;
  const fetch: EmrEndpoint['outbound']['fetch'] = async (url, request) => {
    requests_sent++;
    if (due?.method === request.method) {
      const { work } = due;
      due = undefined;
      await work();
    }
    const hit = requests_sent === lost.n;
    if (hit && lost.when === 'before') throw new OutboundFailure('broken', 'the request was lost', { sent: true });
    const response = await endpoint_plain.outbound.fetch(url, request);
    if (hit) throw new OutboundFailure('broken', 'the response was lost', { sent: true });
    return response;
  };
  const endpoint = { ...endpoint_plain, outbound: { ...endpoint_plain.outbound, fetch } };
  let stored = grant;
  const saveGrant = async (saved: Grant) => {
    stored = saved;
  };
  const opened = fhir.open(endpoint, { credentials, grant, timezone, saveGrant, shared_markers });
  return {
    // A test that uses an unsupported operation fails.
    emr: opened as Operations,
    lose: (n, when) => {
      [requests_sent, lost] = [0, { n, when }];
    },
    before: (method, work) => {
      due = { method, work };
    },
    requests: () => {
      const before = requests_sent;
      requests_sent = 0;
      return before;
    },
    grant: () => stored,
  };
}

/** Performs a write like a job: a write that may have arrived is looked up before it is sent again. */
export async function performWrite<In, Out>(write: EmrWrite<In, Out>, input: In, marker: string): Promise<Out> {
  let uncertain = false;
  for (let attempts = 0; attempts < 5; attempts++) {
    try {
      if (uncertain) {
        if (!write.find) throw new Error('The write has no find.');
        const existing = await write.find(marker, input);
        if (existing) return existing;
      }
      return await write.send(input, marker);
    } catch (error) {
      if (!(error instanceof EmrFailure) || !['unavailable', 'unknown_outcome'].includes(error.kind)) throw error;
      uncertain ||= error.kind === 'unknown_outcome';
    }
  }
  throw new Error('The write did not finish within five attempts.');
}

/** The records of a type that one of our writes created, by its marker and those of its parts. */
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
