import type { Grant } from '../../connector.ts';
import { type ServerFacts, toCapabilities } from './capabilities.ts';

/**
 * The size of the largest file that the server may accept, as far as it is known: one that is refused in raw form is
 * sent in JSON.
 */
export function documentBytesMax({ server }: Grant): number | undefined {
  if (server === undefined) return undefined;
  // Written by signIn from a value of this type.
  const facts: ServerFacts = JSON.parse(server);
  const { raw_refused, raw_refused_bytes, json_refused_bytes } = facts.documents ?? {};
  const raw = toCapabilities(facts).interactions('Binary').has('create') && !raw_refused;
  const refused = [json_refused_bytes, ...(raw ? [raw_refused_bytes] : [])];
  if (!refused.every((bytes) => bytes !== undefined)) return undefined;
  return Math.max(...refused) - 1;
}

/** What people should know about the server, for the connection report. Without health data. */
export function serverFindings({ server }: Grant): string[] {
  if (server === undefined) return [];
  // Written by signIn from a value of this type.
  const { hidden_locations }: ServerFacts = JSON.parse(server);
  return hidden_locations ? [hidden_locations_finding] : [];
}

const hidden_locations_finding =
  'Locations: the server does not show where patients are seen. Locations that name no organization and no type, and ' +
  'do not match an organization of the practice by name or address, are not listed, because they may be homes of patients.';
