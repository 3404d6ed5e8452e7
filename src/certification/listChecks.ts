import { type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { Listing, ListPage, Operations } from '../connectors/connector.ts';
import { collect } from '../connectors/operations.ts';
import { record_kinds } from '../model/records/kinds.ts';
import type { OutboundResponse } from '../security/outbound.ts';
import { type Check, expectFailure } from './check.ts';
import type { Environment, ListName } from './environment.ts';
import { onCall, respondWith, unusable_responses } from './interceptors.ts';
import { findInvalidValue } from './invalidValues.ts';
import { fail, skip, skipUnsupported } from './outcomes.ts';

const known = Type.Object({ ehr_id: Type.String({ minLength: 1 }) });

/** The schema of each list's rows. */
export const lists = Object.fromEntries<TSchema>(record_kinds.map((kind) => [kind.operation, kind.source])) as Record<
  ListName,
  TSchema
>;

/** A page is held in memory, a list is not. */
const page_rows_max = 1000;

// Object.keys loses the type of the keys.
const names = Object.keys(lists) as ListName[];

export const listChecks: readonly Check[] = names.flatMap((name): Check[] => [
  {
    id: `${name}.rows`,
    expectation: 'every row matches its schema, has a unique id and contains valid dates and times',
    run: async (env) => {
      const rows = await env.rows(name);
      const [schema, identified] = [Compile(lists[name]), Compile(known)];
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
    id: `${name}.complete`,
    expectation: 'the list is read to its end, page by page, and a second read returns the same rows',
    run: async (env) => {
      const rows = await env.rows(name);
      const again = await pagesOf(env, name);
      const longest = Math.max(0, ...again.map((page) => page.length));
      if (longest > page_rows_max) fail(`a page has ${longest} rows`);
      const [first, second] = [rows, again.flat()].map((all) => all.map(({ ehr_id }) => ehr_id).sort());
      const missing = first?.some((id) => !second?.includes(id));
      if (missing) fail('rows of the first read are missing from the second');
      const expected = env.counts?.[name];
      if (expected !== undefined && rows.length !== expected) fail(`${rows.length} of ${expected} rows were returned`);
    },
  },
  {
    id: `${name}.since`,
    expectation: 'an incremental list returns a position to resume from, and only records of the list',
    run: async (env) => {
      const ids = new Set((await env.rows(name)).map(({ ehr_id }) => ehr_id));
      const { emr } = await env.open();
      const list = listOf(emr, name);
      if (!list.incremental) skip('not an incremental list');
      const since = await throughOf(list());
      if (since === undefined && ids.size > 0) fail('no page has a position (through)');
      const changed = await env.track(collect(list({ since })));
      if (changed.some(({ ehr_id }) => !ids.has(ehr_id))) fail('the changes contain records that are not in the list');
    },
  },
  {
    id: `${name}.interrupted`,
    expectation: 'an interrupted list fails instead of returning a part as the whole list',
    run: async (env) => {
      const calls = await env.callCount(name);
      if (calls === 0) skip('the list needs no request');
      for (const [situation, make] of Object.entries(unusable_responses))
        await expectListFailure(env, name, Math.min(1, calls - 1), situation, make);
      await expectListFailure(
        env,
        name,
        calls - 1,
        'an error (500) in the last response',
        unusable_responses['an error (500)'],
      );
    },
  },
]);

type AnyList = Listing<{ ehr_id: string }>;

export function listOf(emr: Partial<Operations>, name: ListName): AnyList {
  // Follows from ListName, but TypeScript loses it in the index access.
  return (emr[name] as AnyList | undefined) ?? skipUnsupported(name);
}

/** The last position of a complete read. */
export async function throughOf(list: AsyncIterable<ListPage<unknown>>): Promise<string | undefined> {
  let last: string | undefined;
  for await (const { through } of list) last = through ?? last;
  return last;
}

async function expectListFailure(
  env: Environment,
  name: ListName,
  index: number,
  situation: string,
  make: () => OutboundResponse,
) {
  const { emr } = await env.open({ intercept: onCall(index, respondWith(make)) });
  await expectFailure(env, `${situation} in response ${index + 1}`, () => collect(listOf(emr, name)()), [
    'unavailable',
  ]);
}

async function pagesOf(env: Environment, name: ListName): Promise<{ ehr_id: string }[][]> {
  const { emr } = await env.open();
  const pages: { ehr_id: string }[][] = [];
  for await (const page of listOf(emr, name)()) pages.push(page);
  return pages;
}
