import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { ProviderSource } from '../../model/records/providers.ts';
import type { ReferringProviderSource } from '../../model/records/referringProviders.ts';
import type { StaffMemberSource } from '../../model/records/staff.ts';
import { collect } from '../operations/operation.ts';
import type { Operations } from '../operations/operations.ts';
import { defineList, readPages } from './lists.ts';
import { defineWrite, type LarkspurOperation, listing, reading, toWritten } from './operation.ts';
import type { SendRequest } from './session.ts';
import { addressOneLine, blankToNull, flag, id, isoDate, text, textOrNull, toStatus } from './values.ts';

const time = Type.String({ pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$' });
const endTime = Type.String({ pattern: '^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$' });

const Shift = Type.Object({
  startTime: time,
  endTime,
  facilityId: id,
  effectiveFrom: text,
  effectiveTo: textOrNull,
  description: textOrNull,
  recurrence: Type.Union([
    Type.Null(),
    Type.Object({ startDate: text, intervalType: text, intervalAmount: Type.Integer(), description: textOrNull }),
  ]),
  visitRules: Type.Array(
    Type.Object({ startTime: time, endTime, visits: Type.Integer(), visitTypeCode: text, visitTypeName: text }),
  ),
});
type Shift = Static<typeof Shift>;
type ShiftSource = ProviderSource['hours'][number]['shifts'][number];

export const providers = defineList({
  path: '/api/providers',
  row: Compile(
    Type.Object({
      providerId: id,
      displayName: text,
      npi: textOrNull,
      timeZone: id,
      activeFlag: flag,
      weeklyHours: Type.Array(Type.Object({ dayName: text, shifts: Type.Array(Shift) })),
    }),
  ),
  toSource: (row): ProviderSource => ({
    ehr_id: row.providerId,
    name: row.displayName,
    npi: blankToNull(row.npi),
    timezone: row.timeZone,
    status: toStatus(row.activeFlag),
    hours: row.weeklyHours.map(({ dayName, shifts }) => ({ day: dayName, shifts: shifts.flatMap(toShift) })),
  }),
});

/** Drops a shift with an invalid date: without its limits, it would offer days on which nobody works. */
function toShift(shift: Shift): ShiftSource[] {
  const { recurrence } = shift;
  const from = isoDate(shift.effectiveFrom);
  const to = isoDate(shift.effectiveTo);
  const recurs_from = isoDate(recurrence?.startDate ?? null);
  const has_end = blankToNull(shift.effectiveTo) !== null;
  if (from === null || (has_end && to === null) || (recurrence && recurs_from === null)) return [];

  const description = blankToNull(shift.description);
  return [
    {
      start: `T${shift.startTime}:00`,
      end: `T${formatEnd(shift)}`,
      facility_id: shift.facilityId,
      set_start_date: midnight(from),
      ...(to !== null && { set_end_date: midnight(to) }),
      ...(description !== null && { set_description: description }),
      ...(recurrence && recurs_from !== null && { recurrence: toRecurrence(recurrence, recurs_from) }),
      ...(shift.visitRules.length > 0 && { visit_type_rules: shift.visitRules.map(toVisitTypeRule) }),
    },
  ];
}

/** A shift that ends at 00:00 ends with its day. From 00:00 to 00:00 may be no time. */
function formatEnd({ startTime, endTime }: { startTime: string; endTime: string }): string {
  return endTime === '00:00' && startTime !== '00:00' ? '24:00:00' : `${endTime}:00`;
}

function midnight(date: string): string {
  return `${date}T00:00:00`;
}

function toRecurrence({ intervalType, intervalAmount, description }: NonNullable<Shift['recurrence']>, from: string) {
  return {
    rec_start_date: midnight(from),
    recur_interval_type: intervalType,
    recur_interval_amount: intervalAmount,
    recur_interval_description: blankToNull(description) ?? `Every ${intervalAmount} ${intervalType}`,
  };
}

function toVisitTypeRule(rule: Shift['visitRules'][number]) {
  return {
    start_time: `${rule.startTime}:00`,
    end_time: formatEnd(rule),
    total_visits: rule.visits,
    visit_type_id: rule.visitTypeCode,
    visit_type_desc: rule.visitTypeName,
  };
}

const staff = defineList({
  path: '/api/staff',
  row: Compile(Type.Object({ staffId: id, displayName: text, role: textOrNull, activeFlag: flag })),
  toSource: (row): StaffMemberSource => ({
    ehr_id: row.staffId,
    name: row.displayName,
    role: blankToNull(row.role),
    status: toStatus(row.activeFlag),
  }),
});

/** Larkspur compares names by the same rule. */
function findReferringProviders(
  request: SendRequest,
  { first_name, last_name }: { first_name: string; last_name: string },
): Promise<ReferringProviderSource[]> {
  return collect(readPages(request, referringProviders, { firstName: first_name, lastName: last_name }));
}

const referringProviders = defineList({
  path: '/api/referring-providers',
  row: Compile(
    Type.Object({
      referringId: id,
      firstName: text,
      lastName: text,
      middleInitial: textOrNull,
      speciality: textOrNull,
      phone: textOrNull,
      fax: textOrNull,
      email: textOrNull,
      npi: textOrNull,
      address: addressOneLine,
      activeFlag: flag,
    }),
  ),
  toSource: (row): ReferringProviderSource => ({
    ehr_id: row.referringId,
    name: [row.firstName, blankToNull(row.middleInitial), row.lastName].filter(Boolean).join(' '),
    first_name: row.firstName,
    last_name: row.lastName,
    middle_initial: blankToNull(row.middleInitial),
    speciality: blankToNull(row.speciality),
    phone: blankToNull(row.phone),
    fax: blankToNull(row.fax),
    email: blankToNull(row.email),
    npi: blankToNull(row.npi),
    address_street: blankToNull(row.address.line1),
    address_city: blankToNull(row.address.city),
    address_state: blankToNull(row.address.state),
    address_zip: blankToNull(row.address.zip),
    status: toStatus(row.activeFlag),
  }),
});

const createReferringProvider = defineWrite<Operations['createReferringProvider']>(
  'create_referring_provider',
  (input) => ({
    path: '/api/referring-providers',
    body: {
      firstName: input.first_name,
      lastName: input.last_name,
      npi: input.npi,
      phone: input.phone,
      fax: input.fax,
      email: input.email,
      address: {
        line1: input.address_street ?? '',
        city: input.address_city ?? '',
        state: input.address_state ?? '',
        zip: input.address_zip ?? '',
      },
    },
  }),
  toWritten,
);

export const provider_operations: readonly LarkspurOperation[] = [
  { operation: 'listProviders', open: listing(providers) },
  { operation: 'listStaff', open: listing(staff) },
  { operation: 'listReferringProviders', open: listing(referringProviders) },
  { operation: 'findReferringProviders', open: reading(findReferringProviders) },
  { operation: 'createReferringProvider', open: createReferringProvider },
];
