import { readFile } from 'node:fs/promises';
import type * as fhir from 'fhir/r4.js';
import { describe, expect, test } from 'vitest';
import type { PublishedCard } from '../../scripts/pages/scoreCards.ts';
import type { ScoreCard } from '../../src/emr/certification/report.ts';
import { family_name } from '../../src/emr/operations/operation.ts';
import type { FaultSwitches, FhirServer } from '../harness/fhir/startFhirServer.ts';
import { certifyFhir, certifyLarkspur, certifyOpenEmr, chart_mrn } from './certifyShipped.ts';

const read_only: FaultSwitches['withheld'] = Object.fromEntries(
  ['Patient', 'Coverage', 'RelatedPerson', 'Appointment', 'DocumentReference', 'Binary'].map((type) => [
    type,
    ['create', 'update'] as const,
  ]),
);

describe('Larkspur', () => {
  test('passes every check, as its score card says', { timeout: 300_000 }, async () => {
    const counts = { listProviders: 8, listStaff: 12, listLocations: 3, listPatients: 200 };
    await expectPublished('larkspur', await certifyLarkspur({ counts }));
  });
});

describe('OpenEMR', () => {
  test('passes every check, as its score card says', { timeout: 300_000 }, async () => {
    await expectPublished('openemr', await certifyOpenEmr());
  });
});

describe('a FHIR server', () => {
  test('passes every check, as its score card says', { timeout: 300_000 }, async () => {
    const counts = { listPatients: 120, listClaims: 450 };
    const card = await certifyFhir({ data: 'paged', counts, patient_mrn: chart_mrn, examine: expectSyntheticPatients });
    await expectPublished('default', card);
  });

  // Several habits in one server: a certification of each took half of the suite's time for connectors. Each habit alone
  // is tested in test/connectors/fhir, and `npm run scorecards` certifies twelve more servers.
  test.for<[string, Partial<FaultSwitches>]>([
    [
      'sends no body after a create, returns lists as whole collections and finds nothing by a plain date',
      {
        create_response: 'empty',
        paging: 'whole',
        total: false,
        bundle_type: 'collection',
        day_matches_nothing: true,
      },
    ],
    [
      'sends text after a create, links pages of 7 records by query only, rejects unknown parameters and allows one create at a time',
      {
        create_response: 'not_fhir',
        etag: 'strong',
        page_rows_max: 7,
        paging: 'relative_links',
        unknown_parameter: 'refuse',
        one_create_at_a_time: true,
      },
    ],
    ['has neither conditional create nor search by POST', { conditional_create: false, search_by_form: 'unknown' }],
    [
      'has neither conditional create nor search by identifier',
      { conditional_create: false, search_by_identifier: false },
    ],
    ['is read-only', { withheld: read_only }],
  ])('a FHIR server that %s passes every check', { timeout: 300_000 }, async ([, switches]) => {
    expectNoFailure(await certifyFhir({ switches }));
  });
});

function expectNoFailure(card: ScoreCard): void {
  expect(card.failed).toEqual([]);
  expect(Object.entries(card.operations).filter(([, { state }]) => state === 'fails')).toEqual([]);
}

async function expectPublished(name: string, card: ScoreCard): Promise<void> {
  expectNoFailure(card);
  const file = new URL('../../docs/reference/score-cards.json', import.meta.url);
  const published: PublishedCard[] = JSON.parse(await readFile(file, 'utf8'));
  expect(
    published.find((each) => each.name === name),
    'Run npm run scorecards',
  ).toMatchObject(card);
}

async function expectSyntheticPatients(server: FhirServer): Promise<void> {
  const created = (await server.resources<fhir.Patient>('Patient')).filter(({ id }) => !id?.startsWith('pat-'));
  expect(created.length).toBeGreaterThan(0);
  for (const { name } of created) expect(name?.[0]?.family).toBe(family_name);
}
