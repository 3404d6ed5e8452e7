import type * as fhir from 'fhir/r4.js';
import { addDays, formatDay, parseDay } from '../../platform/time/days.ts';
import { todayIn } from '../../platform/time/zones.ts';
import type { Grant } from '../connector.ts';
import { EmrFailure } from '../emrFailure.ts';
import type { ListWindow } from '../operations/operation.ts';
import { readExported } from './bulk/exportedRecords.ts';
import type { Emr } from './references.ts';
import { type SearchPlan, type ServerFacts, toCapabilities } from './transport/capabilities.ts';
import type { FhirClient } from './transport/client.ts';
import { exportable_types } from './transport/exports.ts';
import { describePlan, first_day, rangeParams, windowAround } from './transport/plans.ts';
import { IncompleteList, type SearchParams } from './transport/search.ts';

type Resource = fhir.FhirResource;

/** How much of a list a read returns: the `near` days or other ones only, where it is read by days. */
export type ReadScope = 'all' | 'near' | ListWindow;

/** Some records of a list. `window`: the list was read within it only. `partial`: some records may be missing. */
export type ReadPart<T> = { matches: T[]; window?: ListWindow; partial?: true };

/**
 * Reads all records of a type, by the plan that the server accepts. Each record is returned once. A record that repeats
 * within one search fails the read, because another one may have been missed. `params` are added to each search.
 */
export async function* readList<T extends Resource>(
  { client, timezone, exported }: Pick<Emr, 'client' | 'timezone'> & { exported?: Emr['exported'] },
  type: T['resourceType'],
  params: SearchParams = {},
  scope: ReadScope = 'all',
): AsyncGenerator<ReadPart<T>> {
  const plan = client.capabilities.listPlan(type);
  if (plan?.by === 'export' && exported) return yield* readExported<T>(exported, type);
  if (!plan || plan.by === 'export')
    throw new EmrFailure('refused', `The EMR does not list ${type} records.`, { code: 'not_supported' });
  const returned = new Set<string>();
  const reading: Reading<T> = { client, type, params, returned };
  try {
    if (plan.by === 'days') yield* readDays({ client, timezone }, reading, plan, scope);
    else if (plan.by === 'birth_dates') {
      const born = { from: first_day, to: todayIn(timezone) };
      const pages = readRange(reading, (range) => rangeParams(plan.param, range), born);
      // Charts without a date of birth are missed.
      for await (const { matches } of pages) yield { matches, partial: true };
    } else if (plan.searches.length > 1 && Object.keys(params).length === 0) {
      yield* readOnce(reading, plan);
    } else yield* readSearches(reading, plan);
  } catch (error) {
    if (error instanceof EmrFailure && error.kind === 'refused') await forgetPlan(client, type);
    throw error;
  }
}

/** Whether the list is read by days, so that near ones can be read more often. */
export function isReadByDays({ capabilities }: FhirClient, type: string): boolean {
  return capabilities.listPlan(type)?.by === 'days';
}

/** How lists are read that the server refuses to return without criteria, as sentences of the connection report. */
export function planFindings({ server }: Grant): string[] {
  if (server === undefined) return [];
  // Written by signIn from a value of this type.
  const facts: ServerFacts = JSON.parse(server);
  const { listPlan } = toCapabilities(facts);
  const types = new Set([...Object.keys(facts.plans ?? {}), ...(facts.export ? exportable_types : [])]);
  return [...types].flatMap((type) => {
    const current = listPlan(type);
    const plan = current?.by === 'export' ? current : facts.plans?.[type];
    return plan ? describePlan(type, plan, facts.export) : [];
  });
}

type Reading<T extends Resource> = {
  client: FhirClient;
  type: T['resourceType'];
  params: SearchParams;
  returned: Set<string>;
};

/** The pages of one search, without the records that another search has returned. */
async function* readSearch<T extends Resource>(
  { client, type, params, returned }: Reading<T>,
  criteria: SearchParams,
): AsyncGenerator<T[]> {
  const seen = new Set<string>();
  for await (const { matches } of client.search<T>(type, { ...params, ...criteria })) {
    for (const { id } of matches) {
      if (id === undefined || seen.has(id))
        throw new EmrFailure('unavailable', 'A list of the EMR changed while it was read.');
      seen.add(id);
    }
    const unseen = matches.filter(({ id = '' }) => !returned.has(id));
    for (const { id = '' } of unseen) returned.add(id);
    yield unseen;
  }
}

type PlannedSearches = Extract<SearchPlan, { by: 'searches' }>;

async function* readSearches<T extends Resource>(
  reading: Reading<T>,
  { searches, partial }: PlannedSearches,
): AsyncGenerator<ReadPart<T>> {
  for (const search of searches) {
    for await (const matches of readSearch(reading, search)) yield { matches, ...(partial && { partial }) };
  }
}

/** Several lists are made of the same type, and a plan may take dozens of searches: those of a sync share what was read. */
async function* readOnce<T extends Resource>(reading: Reading<T>, plan: PlannedSearches): AsyncGenerator<ReadPart<T>> {
  const { client, type } = reading;
  const reads = recent_reads.get(client) ?? new Map<string, RecentRead>();
  recent_reads.set(client, reads);
  const recent = reads.get(type);
  if (recent && recent.read_at_ms > Date.now() - valid_ms) {
    // Each entry contains records of one type only.
    yield* recent.parts as ReadPart<T>[];
    return;
  }
  const read_at_ms = Date.now();
  const parts: ReadPart<T>[] = [];
  let records = 0;
  for await (const part of readSearches(reading, plan)) {
    records += part.matches.length;
    if (records <= kept_max) parts.push(part);
    yield part;
  }
  if (records <= kept_max) reads.set(type, { read_at_ms, parts });
}

type RecentRead = { read_at_ms: number; parts: readonly ReadPart<Resource>[] };
/** By opened account, for as long as it is open. */
const recent_reads = new WeakMap<FhirClient, Map<string, RecentRead>>();
/** Some MB. A longer list is read again. */
const kept_max = 2000;
/** Shorter than the overlap of two syncs, so that nothing falls between them. */
const valid_ms = 5 * 60_000;

/**
 * Reads the records of a range of days, in halves if the server refuses the whole because too many match, or cuts it off.
 * What a half has returned is not returned again.
 */
async function* readRange<T extends Resource>(
  reading: Reading<T>,
  toParams: (range: { from: string; to: string }) => SearchParams,
  range: { from: string; to: string },
): AsyncGenerator<ReadPart<T>> {
  try {
    for await (const matches of readSearch(reading, toParams(range))) yield { matches };
    return;
  } catch (error) {
    if (!isTooMany(error) || range.from >= range.to) throw error;
  }
  const [first = 0, last = 0] = [parseDay(range.from), parseDay(range.to)];
  const middle = Math.floor((first + last) / 2);
  yield* readRange(reading, toParams, { from: range.from, to: formatDay(middle) });
  yield* readRange(reading, toParams, { from: formatDay(middle + 1), to: range.to });
}

/** Servers refuse a search with too many matches in different ways. One that they refuse for another reason fails in the end. */
function isTooMany(error: unknown): boolean {
  return error instanceof IncompleteList || (error instanceof EmrFailure && error.kind === 'refused');
}

/** How many days ahead are read with each sync. */
const near_days = 14;

async function* readDays<T extends Resource>(
  emr: Pick<Emr, 'client' | 'timezone'>,
  reading: Reading<T>,
  { param, for_each }: Extract<SearchPlan, { by: 'days' }>,
  scope: ReadScope,
): AsyncGenerator<ReadPart<T>> {
  const today = todayIn(emr.timezone);
  const near = { from: addDays(today, -2), to: addDays(today, near_days) };
  const days = scope === 'all' ? windowAround(today) : scope === 'near' ? near : scope;
  if (!for_each) {
    const pages = readRange(reading, (range) => rangeParams(param, range), days);
    for await (const { matches } of pages) yield { matches, window: days };
    return;
  }
  const ehr_ids = await listOwners(emr, for_each.type);
  // Others may exist, of locations that the server does not list, or of none.
  const window: ListWindow = { ...days, owners: { column: owner_columns[for_each.type], ehr_ids } };
  for (const id of ehr_ids) {
    const owner = { [for_each.param]: `${for_each.type}/${id}` };
    const pages = readRange(reading, (range) => ({ ...owner, ...rangeParams(param, range) }), days);
    for await (const { matches } of pages) yield { matches, window };
  }
}

const owner_columns = { Location: 'facility_ehr_id', Practitioner: 'provider_ehr_id' } as const;

/** The ids of all locations or practitioners. Fails if there is none: the list would seem to be empty. */
async function listOwners(emr: Pick<Emr, 'client' | 'timezone'>, type: 'Location' | 'Practitioner'): Promise<string[]> {
  const ids: string[] = [];
  for await (const { matches } of readList(emr, type)) ids.push(...matches.flatMap(({ id }) => id ?? []));
  if (ids.length > 0) return ids;
  throw new EmrFailure('unavailable', `The EMR lists no ${type} records.`);
}

/** The next refresh of the account's capabilities looks for another plan. */
async function forgetPlan(client: FhirClient, type: string): Promise<void> {
  if (client.capabilities.listsAll(type) || client.capabilities.listPlan(type)?.by === 'export') return;
  await client.learn((facts) => {
    const { [type]: _, ...plans } = facts.plans ?? {};
    facts.plans = plans;
    delete facts.probed_at;
  });
}
