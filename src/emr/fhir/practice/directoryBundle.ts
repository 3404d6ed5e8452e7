import type { ListedPractice, PracticeLists } from '../../listedPractices.ts';

/**
 * Reads the bundles in which vendors publish the addresses of their customers: SMART User-access Brands (organizations
 * that refer to endpoints), and older ones (endpoints that contain or refer to their organization).
 */
export const practiceLists: PracticeLists = { readBundle, isSupported };

/** Parsed JSON of which nothing is known. */
type Json = { readonly [name: string]: unknown };

/** What is kept of every organization until the bundle is read: little, because there can be a hundred thousand. */
type Unit = { name: string; part_of: string | undefined; endpoints: string[] };
type Address = { address: string; version: string | null; organizations: string[] };

/** A facility may belong to a department of a brand. A longer chain is a loop. */
const levels_max = 10;

async function* readBundle(entries: () => AsyncIterable<unknown>): AsyncGenerator<ListedPractice> {
  const graph = await readGraph(entries());
  for await (const { resource, full_url } of resources(entries())) {
    if (resource.resourceType === 'Organization') yield* listAddresses(graph, resource, full_url);
    else if (resource.resourceType === 'Endpoint') yield* listContained(graph, resource, full_url);
  }
}

/** `used`: the endpoints that an organization refers to. */
type Graph = { units: Map<string, Unit>; addresses: Map<string, Address>; used: Set<string> };

async function readGraph(entries: AsyncIterable<unknown>): Promise<Graph> {
  const units = new Map<string, Unit>();
  const addresses = new Map<string, Address>();
  for await (const { resource, full_url } of resources(entries)) {
    const keys = listKeys(resource, full_url);
    if (resource.resourceType === 'Organization') {
      const part_of = toKey(resource.partOf);
      const endpoints = listOwn(resource);
      for (const key of keys) units.set(key, { name: readText(resource.name), part_of, endpoints });
    } else if (resource.resourceType === 'Endpoint' && isInUse(resource)) {
      const address = toAddress(resource);
      for (const key of keys) addresses.set(key, address);
    }
  }
  // Some lists name the organization only at the endpoint.
  for (const [key, { organizations }] of addresses) {
    for (const organization of organizations) units.get(organization)?.endpoints.push(key);
  }
  return { units, addresses, used: new Set([...units.values()].flatMap(({ endpoints }) => endpoints)) };
}

type Entry = { resource: Json; full_url: string };

async function* resources(entries: AsyncIterable<unknown>): AsyncGenerator<Entry> {
  for await (const entry of entries) {
    if (isObject(entry) && isObject(entry.resource)) {
      yield { resource: entry.resource, full_url: readText(entry.fullUrl) };
    }
  }
}

/** An organization with each of its addresses, or with those of the nearest organization that it is part of. */
function* listAddresses(graph: Graph, organization: Json, full_url: string): Generator<ListedPractice> {
  const [key = ''] = listKeys(organization, full_url);
  const unit = graph.units.get(key);
  if (!unit || organization.active === false) return;
  const parent = unit.part_of === undefined ? undefined : graph.units.get(unit.part_of);
  const practice = describe(organization, key, parent?.name || null);
  const addresses = [...new Set(findEndpoints(graph, unit))].flatMap((each) => graph.addresses.get(each) ?? []);
  const distinct = new Map(addresses.map((each) => [each.address, each]));
  if (distinct.size === 0) yield { ...practice, address: null, version: null };
  for (const { address, version } of distinct.values()) {
    yield { ...practice, key: `${key} ${address}`, address, version };
  }
}

function findEndpoints({ units }: Graph, unit: Unit): readonly string[] {
  let current: Unit | undefined = unit;
  for (let level = 0; current && level < levels_max; level++) {
    if (current.endpoints.length > 0) return current.endpoints;
    current = current.part_of === undefined ? undefined : units.get(current.part_of);
  }
  return [];
}

/** The organizations in an endpoint. Without any, and if no organization refers to it, the endpoint's own name. */
function* listContained({ addresses, used }: Graph, endpoint: Json, full_url: string): Generator<ListedPractice> {
  const keys = listKeys(endpoint, full_url);
  const [key = ''] = keys;
  const known = addresses.get(key);
  if (!known) return;
  const { address, version } = known;
  const contained = listObjects(endpoint.contained).filter(({ resourceType }) => resourceType === 'Organization');
  for (const organization of contained) {
    yield { ...describe(organization, `${key} ${readText(organization.id)}`, null), address, version };
  }
  if (contained.length > 0 || readText(endpoint.name) === '' || keys.some((each) => used.has(each))) return;
  yield { ...describe({ name: endpoint.name }, key, null), address, version };
}

function describe(organization: Json, key: string, parent: string | null) {
  const name = readText(organization.name);
  const [address = {}] = listObjects(organization.address);
  return {
    key,
    name,
    aliases: listTexts(organization.alias),
    city: readText(address.city) || null,
    state: readText(address.state) || null,
    postal_code: readText(address.postalCode) || null,
    npi: readNpi(organization),
    parent: parent === name ? null : parent,
    search_params: readSearchParams(organization),
  };
}

const npi_system = 'http://hl7.org/fhir/sid/us-npi';

function readNpi(organization: Json): string | null {
  const npi = listObjects(organization.identifier).find(({ system }) => system === npi_system);
  return readText(npi?.value) || null;
}

const practice_extension = 'https://fhir.athena.io/StructureDefinition/ah-practice';

/** One address serves all practices of this vendor, and every search names the practice. */
function readSearchParams(organization: Json): Record<string, string> | null {
  const extension = listObjects(organization.extension).find(({ url }) => url === practice_extension);
  if (!extension) return null;
  const { valueReference, valueString } = extension;
  const named = isObject(valueReference) ? readText(valueReference.reference) : readText(valueString);
  // The list has Practice-1, searches need a-1.Practice-1.
  const practice = named.replace(/^(Organization\/)?(?=Practice-)/, 'Organization/a-1.');
  return practice === '' ? null : { 'ah-practice': practice };
}

const unused = ['off', 'entered-in-error'];

/** Whether an endpoint is a FHIR server that is in operation. Older lists do not say of what type it is. */
function isInUse({ address, status, connectionType }: Json): boolean {
  const types = [connectionType].flat().filter(isObject);
  const codes = types.flatMap((type) => [type, ...listObjects(type.coding)].map(({ code }) => readText(code)));
  const named = codes.filter((code) => code !== '');
  const is_rest = named.length === 0 || named.some((code) => code.startsWith('hl7-fhir-rest'));
  return readText(address) !== '' && is_rest && !unused.includes(readText(status));
}

function toAddress(endpoint: Json): Address {
  const version = listObjects(endpoint.extension).find(({ url }) => readText(url).endsWith('endpoint-fhir-version'));
  const organization = toKey(endpoint.managingOrganization);
  return {
    address: readText(endpoint.address),
    version: readText(version?.valueCode) || readText(version?.valueString) || null,
    organizations: organization === undefined ? [] : [organization],
  };
}

/** R4 and R4B. A list without versions often names them in the address; Argonaut's is DSTU2. */
function isSupported(address: string, version: string | null): boolean {
  if (version !== null) return /^(r?4)/i.test(version.trim());
  return !/(^|[/_.-])(d?stu-?[23]|argonaut)($|[/_.-])/i.test(address);
}

/** By what other resources refer to a resource: its URL in the bundle, and its type with its id. */
function listKeys({ resourceType, id }: Json, full_url: string): string[] {
  const by_id = readText(id) === '' ? [] : [`${resourceType}/${id}`];
  const by_url = full_url === '' ? [] : [shorten(full_url)];
  return [...new Set([...by_id, ...by_url])];
}

function listOwn(organization: Json): string[] {
  const portals = listObjects(organization.extension).flatMap(({ extension }) =>
    listObjects(extension).filter(({ url }) => url === 'portalEndpoint'),
  );
  const references = [...listObjects(organization.endpoint), ...portals.map(({ valueReference }) => valueReference)];
  return references.flatMap((each) => toKey(each) ?? []);
}

/** One file of 2023 has the id of a contained organization in the place of the reference, and needs no key. */
function toKey(reference: unknown): string | undefined {
  const text = isObject(reference) ? readText(reference.reference) : '';
  return text === '' || text.startsWith('#') ? undefined : shorten(text);
}

/** `https://server/fhir/Organization/1/_history/2` → `Organization/1` */
function shorten(reference: string): string {
  const [, key] = /(?:^|\/)([A-Z][A-Za-z]+\/[A-Za-z0-9.-]+)(?:\/_history\/.*)?$/.exec(reference) ?? [];
  return key ?? reference.toLowerCase();
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function listObjects(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function listTexts(value: unknown): string[] {
  return Array.isArray(value) ? value.map(readText).filter((text) => text !== '') : [];
}

/** Lists have tabs, line breaks and blanks at the ends of texts. */
function readText(value: unknown): string {
  return typeof value === 'string' ? value.replace(/\s+/g, ' ').trim() : '';
}
