import { type Statement, statements } from './statements.ts';

export type VendorName = keyof typeof statements;

/** How a vendor's server differs from others: what it lists, refuses and does in its own way. */
export type Vendor = {
  name: VendorName;
  title: string;
  statement: Statement;
  /** Why a search is refused with 400. Undefined: it is performed. Constant parameters are checked before. */
  refusal: (type: string, query: URLSearchParams) => string | undefined;
  /** Parameters that every search must have, with these values. */
  constant_params?: Readonly<Record<string, string>>;
  /** The parameter in links to further pages. */
  page_param: string;
  /** The parameter for the length of a page, if it is not `_count`, which is then ignored. */
  count_param?: string;
  /** More matches of a type are refused with 422. */
  matches_max?: Readonly<Record<string, number>>;
  /** Requests per clock minute, tokens included. Further ones are rejected with 429, without `Retry-After`. */
  requests_per_minute?: number;
  /** Books exactly one slot, with the patient as the only participant. */
  books_by_slot?: true;
};

/** The practice of the test server, where one address serves all practices. */
export const athena_practice = { 'ah-practice': 'Organization/a-1.Practice-195900' };

/**
 * Marks of the facts: V = the vendor's own documents, S = seen by others, I = inferred. Where nothing is known, a server
 * refuses what certified servers usually refuse: searches without a criterion, and charts without a patient.
 */
export const vendors: Readonly<Record<VendorName, Vendor>> = {
  oracle: {
    name: 'oracle',
    title: 'Oracle Health',
    statement: statements.oracle,
    // V: the documentation of each search in the statement, and of the searches for patients.
    refusal: (type, query) => {
      const rule = oracle_rules[type];
      return rule ? rule(query) : requireChart(type, query, ['patient', 'subject', '_id']);
    },
    page_param: 'pageContext',
    matches_max: { Patient: 1000 },
    books_by_slot: true,
  },
  athena: {
    name: 'athena',
    title: 'athenahealth',
    statement: statements.athena,
    constant_params: athena_practice,
    // S: "one of the required parameter combinations [[patient],[_id]] was not provided".
    refusal: (type, query) =>
      type === 'Patient'
        ? anyOf(query, [['_id'], ['identifier'], ['name'], ...pairs('family', ['birthdate', 'gender', 'given'])])
        : type === 'Appointment'
          ? anyOf(query, [['_id'], ['base-appointment-id'], ['group-appointment-id']])
          : requireChart(type, query, ['patient', '_id']),
    page_param: 'cursor',
  },
  ecw: {
    name: 'ecw',
    title: 'eClinicalWorks',
    statement: statements.ecw,
    refusal: requireCriteria,
    page_param: 'page',
    // V: per practice code.
    requests_per_minute: 250,
  },
  nextgen_enterprise: {
    name: 'nextgen_enterprise',
    title: 'NextGen Enterprise',
    statement: statements.nextgen_enterprise,
    // V: `_lastUpdated` is listed for every type.
    refusal: (type, query) => (query.has('_lastUpdated') ? undefined : requireCriteria(type, query)),
    page_param: 'page',
    count_param: '_maxresults',
  },
  meditech: {
    name: 'meditech',
    title: 'MEDITECH',
    statement: statements.meditech,
    refusal: (type, query) => {
      if (type === 'Practitioner' && query.has('family') && query.has('given')) return 'family and given';
      return requireCriteria(type, query);
    },
    page_param: 'continue',
  },
  modmed: {
    name: 'modmed',
    title: 'ModMed',
    statement: statements.modmed,
    refusal: requireCriteria,
    page_param: 'page',
  },
  advancedmd: {
    name: 'advancedmd',
    title: 'AdvancedMD',
    statement: statements.advancedmd,
    refusal: requireCriteria,
    page_param: 'page',
  },
};

/** Types without a patient of their own. */
const directory_types = new Set(['Patient', 'Practitioner', 'PractitionerRole', 'Location', 'Organization']);

function requireCriteria(type: string, query: URLSearchParams): string | undefined {
  if (type === 'Appointment') return listCriteria(query).length > 0 ? undefined : 'no search parameters';
  if (!directory_types.has(type)) return requireChart(type, query, ['patient', '_id']);
  return listCriteria(query).length > 0 ? undefined : 'no search parameters';
}

function requireChart(type: string, query: URLSearchParams, names: readonly string[]): string | undefined {
  if (directory_types.has(type)) return undefined;
  return anyOf(
    query,
    names.map((name) => [name]),
  );
}

/** Undefined if one of the combinations is complete. */
function anyOf(query: URLSearchParams, combinations: readonly (readonly string[])[]): string | undefined {
  if (combinations.some((names) => names.every((name) => query.has(name)))) return undefined;
  return `one of the required parameter combinations ${JSON.stringify(combinations)} was not provided`;
}

function pairs(name: string, others: readonly string[]): string[][] {
  return others.map((other) => [name, other]);
}

/** The parameters that decide which records match. */
function listCriteria(query: URLSearchParams): string[] {
  return [...query.keys()].filter((name) => name === '_id' || !/^(_|page$|cursor$|continue$)/.test(name));
}

const oracle_rules: Readonly<Record<string, (query: URLSearchParams) => string | undefined>> = {
  Patient: (query) => {
    const alone = ['_id', 'identifier', 'birthdate', 'name', 'given', 'family', 'address-postalcode', 'phone', 'email'];
    const dates = query.getAll('birthdate');
    if (dates.length > 2) return 'birthdate more than twice';
    if (dates.length === 2 && prefixes(dates) !== 'ge le') return 'birthdate must have the prefixes ge and le';
    if (dates.some((date) => date.includes('T'))) return 'birthdate with a time';
    return anyOf(
      query,
      alone.map((name) => [name]),
    );
  },
  Practitioner: (query) => anyOf(query, [['_id'], ['identifier'], ['name'], ['family'], ['active']]),
  Location: (query) =>
    anyOf(
      query,
      ['_id', '-physicalType', 'type', 'address', 'address-city', 'address-state', 'address-postalcode'].map((name) => [
        name,
      ]),
    ),
  Organization: (query) => anyOf(query, [['_id'], ['identifier'], ['type'], ['name'], ['address']]),
  Appointment: (query) => {
    if (query.has('_id')) return undefined;
    const actors = ['patient', 'practitioner', 'location'].flatMap((name) => query.getAll(name));
    if (actors.length !== 1 || actors[0]?.includes(',')) return 'exactly one of patient, practitioner or location';
    const dates = [...query.getAll('date'), ...query.getAll('-date-or-req-period')];
    if (dates.length === 0 || dates.length > 2) return 'date is required, once or twice';
    const closed = /^(ge|gt) (le|lt)$/.test(prefixes(dates));
    return dates.length === 2 && !closed ? 'two dates must be a closed range' : undefined;
  },
  Slot: (query) => {
    if (query.has('_id')) return undefined;
    const closed = prefixes(query.getAll('start')) === 'ge lt';
    return query.has('service-type') && closed ? undefined : 'service-type, and start with ge and lt';
  },
  Schedule: (query) => anyOf(query, [['_id']]),
  RelatedPerson: (query) => anyOf(query, [['_id'], ['identifier'], ['patient'], ['-encounter']]),
  Encounter: (query) => anyOf(query, [['_id'], ['identifier'], ['patient'], ['subject'], ['account']]),
  Account: (query) => (query.has('_id') || query.has('type') ? undefined : 'type is required'),
  Communication: (query) => anyOf(query, [['_id'], ['category', 'received', 'recipient', '-email-status']]),
};

function prefixes(dates: readonly string[]): string {
  return dates
    .map((date) => /^[a-z]{2}/.exec(date)?.[0] ?? '')
    .sort()
    .join(' ');
}
