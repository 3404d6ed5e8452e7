import { type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { Listing, ListPage, Operations } from '../connectors/connector.ts';
import { collect } from '../connectors/operations.ts';
import { AppointmentSource } from '../model/appointment.ts';
import { ClaimSource } from '../model/claim.ts';
import { InsuranceProviderSource } from '../model/insuranceProvider.ts';
import { LocationSource } from '../model/location.ts';
import { OrderSource } from '../model/order.ts';
import { PatientSource } from '../model/patient.ts';
import { PharmacySource } from '../model/pharmacy.ts';
import { ProviderSource } from '../model/provider.ts';
import { ReferringProviderSource } from '../model/referringProvider.ts';
import { StaffMemberSource } from '../model/staff.ts';
import { VisitCode } from '../model/visitCode.ts';
import type { OutboundResponse } from '../security/outbound.ts';
import { type Check, fail, failureOf, skip } from './check.ts';
import type { Environment, ListName } from './environment.ts';
import { answering, at, useless } from './interceptors.ts';
import { findInvalidValue } from './invalidValues.ts';

const known = Type.Object({ ehr_id: Type.String({ minLength: 1 }) });

/** What the rows of each list are. */
export const lists: Record<ListName, TSchema> = {
  listProviders: ProviderSource,
  listStaff: StaffMemberSource,
  listLocations: LocationSource,
  listPharmacies: PharmacySource,
  listPatients: PatientSource,
  listInsuranceProviders: InsuranceProviderSource,
  listReferringProviders: ReferringProviderSource,
  listVisitTypes: VisitCode,
  listVisitStatuses: VisitCode,
  listAppointments: AppointmentSource,
  listScheduleBlocks: Type.Object({ starts: Type.String(), minutes: Type.Integer(), provider_ehr_id: Type.String() }),
  listClaims: ClaimSource,
  listOrders: OrderSource,
};

/** A page is kept in memory whole; a list never is. */
const page_rows_max = 1000;

// The keys of the table are the names of lists; TypeScript gives them back as texts.
const names = Object.keys(lists) as ListName[];

export const listChecks: readonly Check[] = names.flatMap((name): Check[] => [
  {
    id: `${name}.rows`,
    promise: 'every row is what the interface says, with an id of its own, and with dates and times that exist',
    run: async (env) => {
      const rows = await env.rows(name);
      const [right, identified] = [Compile(lists[name]), Compile(known)];
      const ids = new Set<string>();
      for (const [index, row] of rows.entries()) {
        if (!identified.Check(row)) return fail(`row ${index} has no id`);
        if (ids.has(row.ehr_id)) fail(`row ${index} has the id of an earlier one`);
        ids.add(row.ehr_id);
        if (!right.Check(row)) fail(`row ${index} is wrong at ${right.Errors(row)[0]?.instancePath || '/'}`);
        const fault = findInvalidValue(row);
        if (fault) fail(`row ${index} has ${fault}`);
      }
    },
  },
  {
    id: `${name}.whole`,
    promise: 'the list is read to its end, page by page, and the same rows come again',
    run: async (env) => {
      const rows = await env.rows(name);
      const again = await pagesOf(env, name);
      const longest = Math.max(0, ...again.map((page) => page.length));
      if (longest > page_rows_max) fail(`a page of ${longest} rows`);
      const [first, second] = [rows, again.flat()].map((all) => all.map(({ ehr_id }) => ehr_id).sort());
      const grown = first?.some((id) => !second?.includes(id));
      if (grown) fail('rows of the first reading are missing in the second');
      const expected = env.counts?.[name];
      if (expected !== undefined && rows.length !== expected) fail(`${rows.length} rows of ${expected}`);
    },
  },
  {
    id: `${name}.since`,
    promise:
      'where it can be asked for changes alone, it says where to begin again, and gives no more than the list has',
    run: async (env) => {
      const ids = new Set((await env.rows(name)).map(({ ehr_id }) => ehr_id));
      const { emr } = await env.open();
      const list = listOf(emr, name);
      if (!list.incremental) skip('it is read as a whole each time');
      const since = await throughOf(list());
      if (since === undefined && ids.size > 0) fail('no page says how far it came');
      const changed = await env.watch(collect(list({ since })));
      if (changed.some(({ ehr_id }) => !ids.has(ehr_id))) fail('what changed has records that the list has not');
    },
  },
  {
    id: `${name}.broken_off`,
    promise: 'a list that breaks off in the middle fails; it never ends as if it were whole',
    run: async (env) => {
      const calls = await env.callsOf(name);
      if (calls === 0) skip('it is known without asking the EMR');
      for (const [what, make] of Object.entries(useless)) await spoil(env, name, Math.min(1, calls - 1), what, make);
      await spoil(env, name, calls - 1, 'an error (500) at the end', useless['an error (500)']);
    },
  },
]);

type AnyList = Listing<{ ehr_id: string }>;

/** Every list gives rows with an id; which, is of no matter here. */
export function listOf(emr: Partial<Operations>, name: ListName): AnyList {
  // By the definition of ListName; TypeScript does not follow it through the index.
  return (emr[name] as AnyList | undefined) ?? skip(`this EMR does not offer ${name}`);
}

/** How far a list that was read to its end came. */
export async function throughOf(list: AsyncIterable<ListPage<unknown>>): Promise<string | undefined> {
  let last: string | undefined;
  for await (const { through } of list) last = through ?? last;
  return last;
}

async function spoil(env: Environment, name: ListName, index: number, what: string, make: () => OutboundResponse) {
  const { emr } = await env.open({ intercept: at(index, answering(make)) });
  await failureOf(env, `${what} to call ${index + 1}`, () => collect(listOf(emr, name)()), ['unavailable']);
}

async function pagesOf(env: Environment, name: ListName): Promise<{ ehr_id: string }[][]> {
  const { emr } = await env.open();
  const pages: { ehr_id: string }[][] = [];
  for await (const page of listOf(emr, name)()) pages.push(page);
  return pages;
}
