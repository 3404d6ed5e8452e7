import { type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { record_kinds } from '../../model/records/kinds.ts';
import type { OutboundResponse } from '../../platform/security/outbound.ts';
import { EmrFailure } from '../emrFailure.ts';
import { collect, type Listing, type ListName, type ListPage, skip } from '../operations/operation.ts';
import type { Operations } from '../operations/operations.ts';
import { type Check, type Environment, expectFailure, fail, type Interceptor, skipUnsupported } from './environment.ts';
import { onCall, respondWith, unusable_responses } from './interceptors.ts';
import { findInvalidValue } from './invalidValues.ts';

const identified_row = Type.Object({ ehr_id: Type.String({ minLength: 1 }) });

/** The schema of each list's rows. */
export const lists = Object.fromEntries<TSchema>(record_kinds.map((kind) => [kind.operation, kind.source])) as Record<
  ListName,
  TSchema
>;

/** A page must fit in memory, unlike a list. */
const page_rows_max = 1000;

// Object.keys loses the type of the keys.
const names = Object.keys(lists) as ListName[];

/** Before the records of any EMR. */
const before_all = '1971-01-01T00:00:00.000Z';

export const listChecks: readonly Check[] = [
  ...names.flatMap(checkList),
  {
    id: 'listLocations.clinical',
    expectation: 'no location is the home of a patient',
    run: async (env) => {
      const locations = await env.rows('listLocations');
      const homes = new Set(
        (await env.rows('listPatients')).flatMap(({ address_street, address_zip }) =>
          place(address_street, address_zip),
        ),
      );
      const at_homes = locations.filter(({ address }) =>
        place(address.address1, address.zip).some((each) => homes.has(each)),
      );
      if (at_homes.length > 0)
        fail(`${at_homes.length} of ${locations.length} locations have the address of a patient`);
    },
  },
  {
    id: 'listClaims.icd',
    expectation: 'icd_codes of a claim contains ICD codes only',
    run: async (env) => {
      const codes = (await env.rows('listClaims')).flatMap(({ icd_codes }) => icd_codes);
      const others = codes.filter((code) => !icd_code.test(code));
      if (others.length > 0) fail(`${others.length} of ${codes.length} codes are not ICD codes`);
    },
  },
];

/** ICD-10 and ICD-9, with or without the dot. */
const icd_code = /^(?:[A-Z]\d[0-9A-Z](?:\.?[0-9A-Z]{1,4})?|(?:\d{3}|V\d\d|E\d{3})(?:\.?\d{1,2})?)$/i;

/** An address in a form that can be compared; none if a part of it is missing. */
function place(street: string | null | undefined, zip: string | null | undefined): string[] {
  return street && zip ? [`${street.trim().toLowerCase()} ${zip.trim().slice(0, 5)}`] : [];
}

function checkList(name: ListName): Check[] {
  return [
    {
      id: `${name}.rows`,
      expectation: 'every row matches its schema, has a unique id and contains valid dates and times',
      run: async (env) => {
        const rows = await env.rows(name);
        const [schema, identified] = [Compile(lists[name]), Compile(identified_row)];
        const ids = new Set<string>();
        for (const [index, row] of rows.entries()) {
          if (!identified.Check(row)) return fail(`row ${index} has no id`);
          if (ids.has(row.ehr_id)) fail(`row ${index} repeats an id`);
          ids.add(row.ehr_id);
          if (!schema.Check(row))
            fail(`row ${index} does not match the schema at ${schema.Errors(row)[0]?.instancePath || '/'}`);
          const problem = findInvalidValue(row);
          if (problem) fail(`row ${index} has ${problem}`);
        }
      },
    },
    {
      id: `${name}.present`,
      expectation: 'the list has at least one record, unless it is said to be empty',
      run: async (env) => {
        const rows = await env.rows(name);
        if (rows.length > 0 || env.empty_lists?.includes(name)) return;
        fail('the list is empty; if the EMR really has no such record, say so with --empty-lists');
      },
    },
    {
      id: `${name}.paging`,
      expectation: 'the same rows are read whether or not a page size is requested',
      run: async (env) => {
        const paged = new Set((await env.rows(name)).map(({ ehr_id }) => ehr_id));
        let removed = 0;
        const intercept: Interceptor = (call, pass) => {
          const url = withoutPageSize(call.url);
          if (url !== call.url) removed++;
          return pass(url);
        };
        const { emr } = await env.open({ intercept });
        const all = await env.track(collect(requireList(emr, name)())).catch(rejectOtherThanUnavailable);
        if (removed === 0) skip('no request names a page size');
        if (!all) return skip('the EMR cannot be read without a page size');
        const whole = new Set(all.map(({ ehr_id }) => ehr_id));
        if (whole.size !== paged.size) fail(`${paged.size} rows with a page size, ${whole.size} without`);
      },
    },
    {
      id: `${name}.complete`,
      expectation: 'the list is read to its end, page by page, and a second read returns the same rows',
      run: async (env) => {
        const rows = await env.rows(name);
        const again = await readPages(env, name);
        const longest = Math.max(0, ...again.map((page) => page.length));
        if (longest > page_rows_max) fail(`a page has ${longest} rows`);
        const [first, second] = [rows, again.flat()].map((all) => all.map(({ ehr_id }) => ehr_id).sort());
        const missing = first?.some((id) => !second?.includes(id));
        if (missing) fail('rows of the first read are missing from the second');
        const expected = env.counts?.[name];
        if (expected !== undefined && rows.length !== expected)
          fail(`${rows.length} of ${expected} rows were returned`);
      },
    },
    {
      id: `${name}.since`,
      expectation: 'the changes of an incremental list since its end are records of the list',
      run: async (env) => {
        const ids = new Set((await env.rows(name)).map(({ ehr_id }) => ehr_id));
        const { emr } = await env.open();
        const list = requireList(emr, name);
        if (!list.incremental) skip('not an incremental list');
        if ((await env.callCount(name)) === 0) skip('the list is constant');
        // A list that cannot be resumed has no position. Its changes are requested by time.
        const since = (await readPosition(list())) ?? new Date().toISOString();
        const changed = await env.track(collect(list({ since })));
        if (changed.some(({ ehr_id }) => !ids.has(ehr_id)))
          fail('the changes contain records that are not in the list');
      },
    },
    {
      id: `${name}.since_start`,
      expectation: 'the changes since a time before the first record are the whole list',
      run: async (env) => {
        const ids = (await env.rows(name)).map(({ ehr_id }) => ehr_id);
        const { emr } = await env.open();
        const list = requireList(emr, name);
        if (!list.incremental) skip('not an incremental list');
        const changed = new Set((await env.track(collect(list({ since: before_all })))).map(({ ehr_id }) => ehr_id));
        const missing = ids.filter((id) => !changed.has(id));
        if (missing.length > 0) fail(`${missing.length} of ${ids.length} rows are not among the changes`);
      },
    },
    {
      id: `${name}.interrupted`,
      expectation: 'an interrupted list fails instead of returning a part as the whole list',
      run: async (env) => {
        const calls = await env.callCount(name);
        if (calls === 0) skip('the list needs no request');
        for (const [situation, make] of Object.entries(unusable_responses))
          await expectListFailure(env, name, { index: Math.min(1, calls - 1), situation, make });
        await expectListFailure(env, name, {
          index: calls - 1,
          situation: 'an error (500) in the last response',
          make: unusable_responses['an error (500)'],
        });
      },
    },
  ];
}

type AnyList = Listing<{ ehr_id: string }>;

export function requireList(emr: Partial<Operations>, name: ListName): AnyList {
  // Follows from ListName, but TypeScript loses it in the index access.
  return (emr[name] as AnyList | undefined) ?? skipUnsupported(name);
}

/** The last position of a complete read. */
export async function readPosition(list: AsyncIterable<ListPage<unknown>>): Promise<string | undefined> {
  let last: string | undefined;
  for await (const { through } of list) last = through ?? last;
  return last;
}

async function expectListFailure(
  env: Environment,
  name: ListName,
  { index, situation, make }: { index: number; situation: string; make: () => OutboundResponse },
) {
  const { emr } = await env.open({ intercept: onCall(index, respondWith(make)) });
  await expectFailure(env, `${situation} in response ${index + 1}`, () => collect(requireList(emr, name)()), [
    'unavailable',
  ]);
}

/** The names of parameters for the length of a page. */
const page_size_names = /^(_count|count|limit|page_?size|per_?page)$/i;

function withoutPageSize(address: string): string {
  const url = new URL(address);
  const sizes = [...url.searchParams.keys()].filter((name) => page_size_names.test(name));
  // Unchanged otherwise, because URL would encode it differently.
  if (sizes.length === 0) return address;
  for (const name of sizes) url.searchParams.delete(name);
  return url.href;
}

/** A connector may notice that the pages do not have the length it requested. */
function rejectOtherThanUnavailable(error: unknown): undefined {
  if (error instanceof EmrFailure && error.kind === 'unavailable') return undefined;
  throw error;
}

async function readPages(env: Environment, name: ListName): Promise<{ ehr_id: string }[][]> {
  const { emr } = await env.open();
  const pages: { ehr_id: string }[][] = [];
  for await (const page of requireList(emr, name)()) pages.push(page);
  return pages;
}
