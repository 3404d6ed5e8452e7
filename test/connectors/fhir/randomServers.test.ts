import fc from 'fast-check';
import type * as fhir from 'fhir/r4.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EmrFailure } from '../../../src/emr/emrFailure.ts';
import { fhir as connector } from '../../../src/emr/fhir/fhir.ts';
import type { ListPage } from '../../../src/emr/operations/operation.ts';
import type { Capability, Operations } from '../../../src/emr/operations/operations.ts';
import type { NewPatient } from '../../../src/emr/operations/patients.ts';
import type { FaultSwitches, Incident } from '../../harness/fhir/faults.ts';
import { assume } from '../../harness/fhir/personalities.ts';
import { type FhirServer, startFhirServer } from '../../harness/fhir/startFhirServer.ts';
import { createEndpoint } from '../larkspur/fixture.ts';
import { bySecret, signedIn } from './fixture.ts';
import { guarantor } from './inputs.ts';

/** More runs than in `npm test`: FHIR_RUNS=500 npx vitest run test/connectors/fhir/randomServers.test.ts */
const runs = Number(process.env.FHIR_RUNS ?? 12);

let server: FhirServer;
beforeAll(async () => {
  server = await startFhirServer({ data: 'small' });
});
afterAll(() => server.close());

/** The values of each switch that are combined at random. */
const switches = fc.record<Partial<FaultSwitches>>(
  {
    paging: fc.constantFrom('links', 'relative_links', 'cut', 'whole'),
    page_rows_max: fc.constantFrom(12, 50, 200),
    total: fc.boolean(),
    bundle_type: fc.constantFrom('searchset', 'collection'),
    unknown_parameter: fc.constantFrom('empty', 'refuse', 'ignore'),
    day_matches_nothing: fc.boolean(),
    etag: fc.constantFrom('weak', 'strong', 'none'),
    versioning: fc.constantFrom('versioned-update', 'versioned', 'no-version'),
    create_response: fc.constantFrom(
      'resource',
      'brief',
      'empty',
      'empty_without_location',
      'outcome',
      'not_fhir',
      'own_format',
    ),
    fails_on_periods: fc.boolean(),
    books_offers: fc.boolean(),
    assertions_need_type: fc.boolean(),
    conditional_create: fc.boolean(),
    writes_at_once_max: fc.constantFrom(1, Number.POSITIVE_INFINITY),
    search_by_identifier: fc.boolean(),
    search_by_form: fc.constantFrom('taken', 'unknown', 'unread', 'unheard'),
    useless_params: fc.constantFrom<readonly string[]>([], ['_count'], ['identifier'], ['_lastUpdated', '_sort']),
    checks_references: fc.boolean(),
    refused_writes: fc.constantFrom<FaultSwitches['refused_writes']>({}, { Patient: { create: 403 } }),
    token_uses_max: fc.constantFrom(20, Number.POSITIVE_INFINITY),
    refresh_rotates: fc.boolean(),
    refresh_reuse: fc.constantFrom<FaultSwitches['refresh_reuse']>('refused', 'ends_sign_in'),
    withheld: fc.constantFrom<FaultSwitches['withheld']>({}, { Coverage: 'all' }, { Location: ['search-type'] }),
    foreign_identifiers: fc.boolean(),
    foreign_extensions: fc.boolean(),
    narrow: fc.constantFrom<readonly string[]>([], ['Practitioner'], ['Patient']),
    forbidden: fc.constantFrom<readonly string[]>([], ['Location'], ['Coverage']),
  },
  { requiredKeys: [] },
);

/** A fault during one of the requests after linking. */
const incident = fc.option(
  fc.record<Pick<Incident, 'kind' | 'performed'>>({
    kind: fc.constantFrom('error_500', 'html_200', 'empty', 'not_fhir', 'reset', 'truncated'),
    performed: fc.boolean(),
  }),
  { nil: undefined },
);

type Use = {
  emr: Partial<Operations>;
  capabilities: readonly Capability[];
  /** Lets the next request with this method fail like the incident. */
  disturb: (method: string) => void;
};

/** Every failure must be one that the product understands. */
async function attempt<T>(
  work: () => Promise<T> | undefined,
): Promise<{ value: T } | { failure: EmrFailure } | undefined> {
  try {
    const result = work();
    return result && { value: await result };
  } catch (error) {
    if (!(error instanceof EmrFailure)) throw error;
    return { failure: error };
  }
}

const lists = { listPatients: 'Patient', listLocations: 'Location', listProviders: 'Practitioner' } as const;

/** Has no clinical type, and nothing refers to it: such places may be homes, and are not listed. */
const unused_place = 'loc-bare';

/** A list that can be resumed may return a record twice. */
async function readPages(pages: AsyncIterable<ListPage<{ ehr_id: string }>>) {
  const ehr_ids = new Set<string>();
  let partial = false;
  for await (const page of pages) {
    for (const { ehr_id } of page) ehr_ids.add(ehr_id);
    partial ||= page.partial === true;
  }
  return { ehr_ids, partial };
}

/** A list that ends without a failure, and is not partial, contains every record: what is missing from it is deleted from the cache. */
async function keepsCaches({ emr, disturb }: Use): Promise<void> {
  for (const [name, type] of Object.entries(lists) as [keyof typeof lists, fhir.Patient['resourceType']][]) {
    disturb('GET');
    const read = await attempt(() => emr[name] && readPages(emr[name]()));
    if (!read || 'failure' in read) continue;
    const stored = (await server.resources<fhir.Patient>(type)).map(({ id }) => id).filter((id) => id !== unused_place);
    const { ehr_ids, partial } = read.value;
    if (partial) expect(stored, name).toEqual(expect.arrayContaining([...ehr_ids]));
    else expect(ehr_ids, name).toEqual(new Set(stored));
  }
}

/** A patient who exists is found, or the search fails. */
async function neverSaysNobody({ emr, disturb }: Use): Promise<void> {
  const mrn = 'MB100001';
  disturb('GET');
  const outcome = await attempt(() => emr.findPatient?.(mrn));
  if (outcome && 'value' in outcome) expect(outcome.value?.mrn, 'findPatient').toBe(mrn);
  const [patient] = await server
    .resources<fhir.Patient>('Patient')
    .then((all) => all.filter(({ id }) => id === 'pat-1'));
  const [name] = patient?.name ?? [];
  const criteria = {
    mrn: { mrn },
    name: { first_name: name?.given?.[0], last_name: name?.family },
    dob: { dob: patient?.birthDate },
  };
  for (const [criterion, search] of Object.entries(criteria)) {
    disturb('POST');
    const searched = await attempt(() => emr.searchPatients?.(search));
    if (!searched || 'failure' in searched) continue;
    expect(
      searched.value.map(({ ehr_id }) => ehr_id),
      `searchPatients by ${criterion}`,
    ).toContain('pat-1');
  }
}

let created = 0;

/** Sends a write as the product does: looked up by its marker after a lost response, and never sent blindly again. */
async function writesOnce({ emr, capabilities, disturb }: Use): Promise<void> {
  const write = emr.createPatient;
  if (!write) return;
  const tag = `Random${String.fromCharCode(...[...String(++created)].map((digit) => 97 + Number(digit)))}`;
  const marker = `${String(created).padStart(32, '0')}-property`;
  const input: NewPatient = {
    first_name: tag,
    last_name: 'Property-Testpatient',
    dob: '1980-02-29',
    sex: 'female',
    phone: '518-555-0199',
    address_street: '1 Placeholder Street',
    address_city: 'Exampleton',
    address_state: 'NY',
    address_zip: '12207',
    self_pay: false,
    payer: capabilities.includes('createPatient.responsible_party') ? guarantor : null,
    ...(capabilities.includes('createPatient.referring_provider_id') && { referring: { ehr_id: 'ref-1' } }),
    coverages: [],
    check_eligibility: false,
    pharmacy_ehr_id: null,
  };
  const stored = async () =>
    (await server.resources<fhir.Patient>('Patient')).filter(({ name }) => name?.[0]?.given?.[0] === tag);
  disturb('POST');
  let sent = await attempt(() => write.send(input, marker));
  if (sent && 'failure' in sent && sent.failure.kind === 'unknown_outcome' && write.find) {
    const looked = await attempt(() => write.find?.(marker, input));
    if (looked && 'value' in looked) {
      const { value } = looked;
      sent = value ? { value } : sent.failure.accepted ? sent : await attempt(() => write.send(input, marker));
    }
  } else if (sent && 'failure' in sent && sent.failure.kind === 'unavailable') {
    sent = await attempt(() => write.send(input, marker));
  }
  const records = await stored();
  expect(records.length, 'the patient is stored at most once').toBeLessThanOrEqual(1);
  for (const type of ['RelatedPerson', 'Account', 'ServiceRequest'] as const) {
    const texts = (await server.resources(type)).map((each) => JSON.stringify(each));
    const own = texts.filter((each) => records.some(({ id }) => each.includes(`Patient/${id}"`)));
    expect(own.length, `${type} is stored at most once`).toBeLessThanOrEqual(1);
    const wanted = (type === 'RelatedPerson' && input.payer) || (type === 'ServiceRequest' && input.referring);
    if (wanted && sent && 'value' in sent) expect(own.length, `a success includes the ${type}`).toBe(1);
  }
  if (sent && 'value' in sent)
    expect(
      records.map(({ id }) => id),
      'a success is stored',
    ).toEqual([sent.value.ehr_id]);
}

test('no combination of behaviors wipes a cache, duplicates a record, invents a success or hides a patient', async () => {
  await fc.assert(
    fc.asyncProperty(switches, incident, async (behavior, fault) => {
      server.reset();
      assume(server, { switches: behavior });
      const credentials = bySecret(server);
      const linked = await attempt(() => signedIn(createEndpoint(server.url), credentials));
      if (!linked || 'failure' in linked) return;
      const { grant, capabilities = [] } = linked.value;
      const access = { credentials, grant, saveGrant: async () => {} };
      const opened = connector.open(createEndpoint(server.url), access);
      const emr = Object.fromEntries(
        Object.entries(opened).filter(([name]) => capabilities.some((each) => each === name)),
      );
      const disturb = (method: string) => fault && server.fail({ ...fault, method, path: '/fhir/R4/' });
      for (const property of [keepsCaches, neverSaysNobody, writesOnce]) await property({ emr, capabilities, disturb });
    }),
    { numRuns: runs, endOnFailure: runs <= 12 },
  );
});
