import { default_behavior, type FaultSwitches, type Interaction } from './faults.ts';

/** A kind of server that exists in practice: a combination of the test server's switches. */
export type Personality = { name: string; title: string; about: string; switches: Partial<FaultSwitches> };

const writable = [
  'Account',
  'Patient',
  'Coverage',
  'RelatedPerson',
  'Appointment',
  'DocumentReference',
  'Binary',
  'ServiceRequest',
  'Task',
  'Communication',
  'Encounter',
  'MedicationRequest',
];
const without = (types: readonly string[], ...interactions: Interaction[]): FaultSwitches['withheld'] =>
  Object.fromEntries(types.map((type) => [type, interactions]));

/** The personalities that have a score card. A new switch belongs to those whose servers behave like that. */
export const personalities: readonly Personality[] = [
  {
    name: 'strict-hospital',
    title: 'Strict hospital',
    about: 'Rejects unknown parameters, demands versions, and has no billing and no administrative writes.',
    switches: {
      unknown_parameter: 'refuse',
      scope_policy: 'all_or_nothing',
      assertions_need_type: true,
      etag: 'weak',
      versioning: 'versioned-update',
      withheld: {
        ...without(['Patient', 'Coverage', 'RelatedPerson', 'MedicationRequest'], 'create', 'update'),
        ...without(['Communication'], 'create'),
        Account: 'all',
        Claim: 'all',
        ClaimResponse: 'all',
        Invoice: 'all',
      },
    },
  },
  {
    name: 'small-open-source',
    title: 'Small open-source EMR',
    about:
      'No conditional creates, no totals, no ETags, no accounts, no tasks, no extensions, and only an id in a format of its own after creates.',
    switches: {
      withheld: { Account: 'all', Invoice: 'all', Task: 'all' },
      foreign_extensions: false,
      conditional_create: false,
      total: false,
      etag: 'none',
      create_response: 'own_format',
      fails_on_periods: true,
      missing_ids: 'own_format',
      checks_references: false,
      basic_credentials: 'verbatim',
      useless_params: ['_count'],
    },
  },
  {
    name: 'in-memory-toy',
    title: 'In-memory toy',
    about: 'Returns everything at once as a collection, without totals or versions, and ignores unknown parameters.',
    switches: {
      paging: 'whole',
      total: false,
      bundle_type: 'collection',
      versioning: 'no-version',
      conditional_create: false,
      unknown_parameter: 'ignore',
      checks_references: false,
    },
  },
  {
    name: 'proxy-in-front',
    title: 'Proxy in front',
    about: 'Links to further pages name the address that only the proxy knows, and strong ETags.',
    switches: { link_origin: 'http://fhir.internal.example:8080', etag: 'strong', json_bytes_max: 1_000_000 },
  },
  {
    name: 'read-only',
    title: 'Read-only',
    about: 'Offers no creates and no updates.',
    switches: { withheld: without(writable, 'create', 'update') },
  },
  {
    name: 'write-without-coverage',
    title: 'Writes without Coverage',
    about: 'Creates patients, but takes no insurances and no visits.',
    switches: { withheld: without(['Coverage', 'Encounter'], 'create', 'update') },
  },
  {
    name: 'slot-bound-booking',
    title: 'Slot-bound booking',
    about:
      'Books exactly one free slot, with the patient as the only participant, allows one create at a time, and takes changes by JSON Patch only.',
    switches: {
      one_create_at_a_time: true,
      slots_kept_by: 'bound',
      patched: ['Account', 'Appointment', 'Coverage', 'Patient', 'RelatedPerson', 'ServiceRequest', 'Slot', 'Task'],
    },
  },
  {
    name: 'offered-booking',
    title: 'Booking by offers',
    about: 'Proposes appointments and books one of them (`$find`, `$book`), and takes no other ones.',
    switches: { books_offers: true },
  },
  {
    name: 'no-search-by-post',
    title: 'No search by POST',
    about: 'Knows searches by URL only.',
    switches: { search_by_form: 'unknown' },
  },
  {
    name: 'tiny-pages',
    title: 'Tiny pages',
    about: 'Returns at most 7 records per page, linked by query only.',
    switches: { page_rows_max: 7, paging: 'relative_links' },
  },
  {
    name: 'grants-less',
    title: 'Grants less than it declares',
    about: 'Refuses claims, documents and visits, although it declares them.',
    switches: {
      forbidden: ['Claim'],
      refused_writes: { DocumentReference: { create: 403 }, Encounter: { create: 403 } },
    },
  },
  {
    name: 'slow',
    title: 'Slow',
    about: 'Takes its time for every response.',
    switches: { latency_ms: 10, writes_at_once_max: 1 },
  },
  {
    name: 'bare-search',
    title: 'Bare search',
    about: 'No search by identifier, and a plain date finds nothing.',
    switches: { search_by_identifier: false, day_matches_nothing: true, create_response: 'outcome' },
  },
];

/** Makes a server behave like a personality from now on. */
export function assume(server: { faults: FaultSwitches }, { switches }: Pick<Personality, 'switches'>): void {
  Object.assign(server.faults, structuredClone(default_behavior), structuredClone(switches));
}
