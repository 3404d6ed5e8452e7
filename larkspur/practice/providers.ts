import { type Static, Type } from 'typebox';
import type { Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';
import {
  emptyShortAddress,
  flag,
  id,
  shortAddress,
  text,
  textOrNull,
  usDate,
  usDateOrNull,
} from '../records/fields.ts';
import { foldName } from '../records/foldName.ts';
import { listRecords, type Page, recordKind } from '../records/recordKind.ts';

export type WeeklyHours = Static<typeof weeklyHours>;

const time = Type.String({ pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$' });
const endTime = Type.String({ pattern: '^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$' });

const shift = Type.Object({
  startTime: time,
  endTime,
  facilityId: id,
  effectiveFrom: usDate,
  effectiveTo: usDateOrNull,
  description: textOrNull,
  recurrence: Type.Union([
    Type.Null(),
    Type.Object({
      startDate: usDate,
      intervalType: Type.Literal('weeks'),
      intervalAmount: Type.Integer({ minimum: 1 }),
      description: textOrNull,
    }),
  ]),
  visitRules: Type.Array(
    Type.Object({
      startTime: time,
      endTime,
      visits: Type.Integer({ minimum: 0 }),
      visitTypeCode: text,
      visitTypeName: text,
    }),
  ),
});

const dayName = Type.Enum(['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']);

const weeklyHours = Type.Array(Type.Object({ dayName, shifts: Type.Array(shift) }));

const providerRow = Type.Object({
  providerId: id,
  firstName: text,
  lastName: text,
  displayName: text,
  npi: textOrNull,
  speciality: textOrNull,
  timeZone: text,
  activeFlag: flag,
  weeklyHours,
});

/** The practice's own providers. */
export const providers = recordKind({ table: 'providers', record: 'provider', id: 'providerId' }, providerRow, {
  firstName: '',
  lastName: '',
  displayName: '',
  timeZone: 'America/New_York',
  activeFlag: 'Y',
  weeklyHours: [],
});

const referringProviderRow = Type.Object({
  referringId: id,
  firstName: text,
  lastName: text,
  middleInitial: textOrNull,
  speciality: textOrNull,
  phone: textOrNull,
  fax: textOrNull,
  email: textOrNull,
  npi: textOrNull,
  address: shortAddress,
  activeFlag: flag,
});

/** Providers outside the practice. */
export const referringProviders = recordKind(
  { table: 'referring_providers', record: 'referring provider', id: 'referringId' },
  referringProviderRow,
  { firstName: '', lastName: '', activeFlag: 'Y', address: emptyShortAddress },
);

/** Of concurrent requests with the same NPI, one succeeds. */
export async function rejectKnownNpi(sql: Query, npi: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtext('npi'), hashtext(${npi}))`;
  const [known] = await sql`select from referring_providers where npi = ${npi} and active_flag = 'Y'`;
  if (known) throw new EmrError('ALREADY_EXISTS', `A referring provider with NPI ${npi} already exists.`);
}

/** A provider named in a chart. `id` is null if only the name is known. */
export interface NamedProvider {
  id: string | null;
  firstName: string;
  lastName: string;
}

export async function findProvider(sql: Query, providerId: string): Promise<NamedProvider | undefined> {
  const [provider] = await sql<NamedProvider[]>`
    select provider_id as id, first_name, last_name from providers
    where provider_id = ${providerId} and active_flag = 'Y'`;
  return provider;
}

export async function findReferringProvider(sql: Query, referringId: string): Promise<NamedProvider | undefined> {
  const [provider] = await sql<NamedProvider[]>`
    select referring_id as id, first_name, last_name from referring_providers
    where referring_id = ${referringId} and active_flag = 'Y'`;
  return provider;
}

/** All active referring providers with this name, compared by `foldName`. */
export async function findReferringProvidersByName(
  sql: Query,
  firstName: string,
  lastName: string,
): Promise<NamedProvider[]> {
  const active = await sql<NamedProvider[]>`
    select referring_id as id, first_name, last_name from referring_providers
    where active_flag = 'Y' order by length(referring_id), referring_id`;
  return active.filter((provider) => isNamed(provider, firstName, lastName));
}

/** Lists referring providers, including inactive ones; those with this name, if one is given. */
export async function listReferringProviders(
  sql: Query,
  { firstName, lastName }: { firstName?: string; lastName?: string },
  page: Page,
) {
  if (firstName === undefined && lastName === undefined) return listRecords(sql, referringProviders, page);
  const all = await sql<NamedProvider[]>`select referring_id as id, first_name, last_name from referring_providers`;
  const ids = all.filter((provider) => isNamed(provider, firstName, lastName)).map(({ id }) => id);
  return listRecords(sql, referringProviders, page, sql`referring_id = any(${ids})`);
}

function isNamed(provider: NamedProvider, firstName: string | undefined, lastName: string | undefined): boolean {
  const equal = (name: string, wanted: string | undefined) =>
    wanted === undefined || foldName(name) === foldName(wanted);
  return equal(provider.firstName, firstName) && equal(provider.lastName, lastName);
}
