import type * as fhir from 'fhir/r4.js';
import type { ExportedRecords } from '../../bulkExports.ts';
import { EmrFailure } from '../../emrFailure.ts';
import type { FhirClient } from '../transport/client.ts';
import { isExportedWhole } from '../transport/exports.ts';

type Resource = fhir.FhirResource;

/** Whether a list is read from bulk exports. */
export function isExported({ capabilities }: FhirClient, type: string): boolean {
  return capabilities.listPlan(type)?.by === 'export';
}

export function requireExported(exported: ExportedRecords | undefined): ExportedRecords {
  if (exported) return exported;
  const message = 'The EMR lists these records by bulk export only, which a sync reads.';
  throw new EmrFailure('refused', message, { code: 'not_supported' });
}

/**
 * The exported records of a type. Files may repeat a record: a version that is not newer is left out. `from` is the `n`
 * of the last part that an earlier attempt has stored.
 */
export async function* readExported<T extends Resource>(
  exported: ExportedRecords,
  type: T['resourceType'],
  from = -1,
): AsyncGenerator<{ matches: T[]; n: number; partial?: true }> {
  const partial = !isExportedWhole(type) || (await exported.isPartial());
  /** 100,000 ids with their times take 15 MB. */
  const newest = new Map<string, number>();
  let last = from;
  for await (const { n, lines } of exported.read(type)) {
    const matches: T[] = [];
    for (const line of lines) {
      // Checked when the file was stored.
      const record: T = JSON.parse(line);
      if (!isNewest(newest, record)) continue;
      if (n > from) matches.push(record);
    }
    last = n;
    if (n > from) yield { matches, n, ...(partial && { partial }) };
  }
  yield { matches: [], n: last, ...(partial && { partial }) };
}

function isNewest(newest: Map<string, number>, { id = '', meta }: Resource): boolean {
  const changed_ms = Date.parse(meta?.lastUpdated ?? '') || 0;
  if ((newest.get(id) ?? -1) >= changed_ms) return false;
  newest.set(id, changed_ms);
  return true;
}
