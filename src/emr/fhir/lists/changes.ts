import type * as fhir from 'fhir/r4.js';
import { type Changes, canSearch } from '../references.ts';
import type { FhirClient } from '../transport/client.ts';

type Resource = fhir.FhirResource;

export function createChanges(client: FhirClient): Changes {
  const read = new Map<string, { from_ms: number; read_at_ms: number; records: Resource[] }>();
  return {
    async since<T extends Resource>(type: T['resourceType'], instant: string) {
      if (!canSearch(client, type, ['_lastUpdated'])) return undefined;
      const from_ms = Date.parse(instant);
      const known = read.get(type);
      const usable = known && known.from_ms <= from_ms && known.read_at_ms > Date.now() - valid_ms;
      // Each entry contains records of one type only.
      if (usable) return known.records as T[];
      const records: T[] = [];
      const read_at_ms = Date.now();
      for await (const { matches } of client.search<T>(type, { _lastUpdated: `ge${instant}` })) {
        records.push(...matches);
        // This many changes come all at once, such as a new quarter's slots: reading the whole list then costs less.
        if (records.length > changes_max) return undefined;
      }
      read.set(type, { from_ms, read_at_ms, records });
      return records;
    },
  };
}

const changes_max = 5000;
/** Shorter than the overlap of two syncs, so that nothing falls between them. */
const valid_ms = 5 * 60_000;
