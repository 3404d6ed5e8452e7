import { type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { record_kinds } from '../../model/records/kinds.ts';
import type { OutboundResponse } from '../../security/outbound.ts';
import type { Listing, ListPage, Operations } from '../connector.ts';
import { broken, notTried } from './broken.ts';
import { type Check, failureOf } from './check.ts';
import { faultOfValues } from './faultOfValues.ts';
import { gather } from './gather.ts';
import type { ListName, Stand } from './stand.ts';
import { answering, at, useless } from './tampers.ts';

const known = Type.Object({ ehr_id: Type.String({ minLength: 1 }) });

/** The schema of the rows of each list. */
export const lists = Object.fromEntries<TSchema>(record_kinds.map((kind) => [kind.operation, kind.source])) as Record<
  ListName,
  TSchema
>;

/** A page is kept in memory whole; a list never is. */
const page_rows_max = 1000;

// The keys of the table are the names of lists; TypeScript gives them back as texts.
const names = Object.keys(lists) as ListName[];

export const listChecks: readonly Check[] = names.flatMap((name): Check[] => [
  {
    id: `${name}.rows`,
    promise: 'every row is what the interface says, with an id of its own, and with dates and times that exist',
    run: async (stand) => {
      const rows = await stand.rows(name);
      const [right, identified] = [Compile(lists[name]), Compile(known)];
      const ids = new Set<string>();
      for (const [index, row] of rows.entries()) {
        if (!identified.Check(row)) return broken(`row ${index} has no id`);
        if (ids.has(row.ehr_id)) broken(`row ${index} has the id of an earlier one`);
        ids.add(row.ehr_id);
        if (!right.Check(row)) broken(`row ${index} is wrong at ${right.Errors(row)[0]?.instancePath || '/'}`);
        const fault = faultOfValues(row);
        if (fault) broken(`row ${index} has ${fault}`);
      }
    },
  },
  {
    id: `${name}.whole`,
    promise: 'the list is read to its end, page by page, and the same rows come again',
    run: async (stand) => {
      const rows = await stand.rows(name);
      const again = await pagesOf(stand, name);
      const longest = Math.max(0, ...again.map((page) => page.length));
      if (longest > page_rows_max) broken(`a page of ${longest} rows`);
      const [first, second] = [rows, again.flat()].map((all) => all.map(({ ehr_id }) => ehr_id).sort());
      const grown = first?.some((id) => !second?.includes(id));
      if (grown) broken('rows of the first reading are missing in the second');
      const expected = stand.counts?.[name];
      if (expected !== undefined && rows.length !== expected) broken(`${rows.length} rows of ${expected}`);
    },
  },
  {
    id: `${name}.since`,
    promise:
      'where it can be asked for changes alone, it says where to begin again, and gives no more than the list has',
    run: async (stand) => {
      const ids = new Set((await stand.rows(name)).map(({ ehr_id }) => ehr_id));
      const { emr } = await stand.open();
      const list = listOf(emr, name);
      if (!list.incremental) notTried('it is read as a whole each time');
      const since = await throughOf(list());
      if (since === undefined && ids.size > 0) broken('no page says how far it came');
      const changed = await stand.watch(gather(list({ since })));
      if (changed.some(({ ehr_id }) => !ids.has(ehr_id))) broken('what changed has records that the list has not');
    },
  },
  {
    id: `${name}.broken_off`,
    promise: 'a list that breaks off in the middle fails; it never ends as if it were whole',
    run: async (stand) => {
      const calls = await stand.callsOf(name);
      if (calls === 0) notTried('it is known without asking the EMR');
      for (const [what, make] of Object.entries(useless)) await spoil(stand, name, Math.min(1, calls - 1), what, make);
      await spoil(stand, name, calls - 1, 'an error (500) at the end', useless['an error (500)']);
    },
  },
]);

type AnyList = Listing<{ ehr_id: string }>;

/** Every list gives rows with an id; which, is of no matter here. */
export function listOf(emr: Partial<Operations>, name: ListName): AnyList {
  // By the definition of ListName; TypeScript does not follow it through the index.
  return (emr[name] as AnyList | undefined) ?? notTried(`this EMR does not offer ${name}`);
}

/** How far a list that was read to its end came. */
export async function throughOf(list: AsyncIterable<ListPage<unknown>>): Promise<string | undefined> {
  let last: string | undefined;
  for await (const { through } of list) last = through ?? last;
  return last;
}

async function spoil(stand: Stand, name: ListName, index: number, what: string, make: () => OutboundResponse) {
  const { emr } = await stand.open({ tamper: at(index, answering(make)) });
  await failureOf(stand, `${what} to call ${index + 1}`, () => gather(listOf(emr, name)()), ['unavailable']);
}

async function pagesOf(stand: Stand, name: ListName): Promise<{ ehr_id: string }[][]> {
  const { emr } = await stand.open();
  const pages: { ehr_id: string }[][] = [];
  for await (const page of listOf(emr, name)()) pages.push(page);
  return pages;
}
