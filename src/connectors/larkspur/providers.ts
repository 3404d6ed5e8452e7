import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { ProviderSource } from '../../model/records/providers.ts';
import { list } from './lists.ts';
import { activity, blankToNull, flag, id, isoDate, text, textOrNull } from './values.ts';

const time = Type.String({ pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$' });

const Shift = Type.Object({
  startTime: time,
  endTime: time,
  facilityId: id,
  effectiveFrom: text,
  effectiveTo: textOrNull,
  description: textOrNull,
  recurrence: Type.Union([
    Type.Null(),
    Type.Object({ startDate: text, intervalType: text, intervalAmount: Type.Integer(), description: textOrNull }),
  ]),
  visitRules: Type.Array(
    Type.Object({ startTime: time, endTime: time, visits: Type.Integer(), visitTypeCode: text, visitTypeName: text }),
  ),
});
type Shift = Static<typeof Shift>;
type ShiftSource = ProviderSource['hours'][number]['shifts'][number];

export const providers = list({
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
  source: (row): ProviderSource => ({
    ehr_id: row.providerId,
    name: row.displayName,
    npi: blankToNull(row.npi),
    timezone: row.timeZone,
    status: activity(row.activeFlag),
    hours: row.weeklyHours.map(({ dayName, shifts }) => ({ day: dayName, shifts: shifts.flatMap(shiftOf) })),
  }),
});

/** None for a shift with a date that cannot be read: without its limits it would offer days that are not worked. */
function shiftOf(shift: Shift): ShiftSource[] {
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
      end: `T${shift.endTime}:00`,
      facility_id: shift.facilityId,
      set_start_date: midnight(from),
      ...(to !== null && { set_end_date: midnight(to) }),
      ...(description !== null && { set_description: description }),
      ...(recurrence && recurs_from !== null && { recurrence: recurrenceOf(recurrence, recurs_from) }),
      ...(shift.visitRules.length > 0 && { visit_type_rules: shift.visitRules.map(visitTypeRuleOf) }),
    },
  ];
}

function midnight(date: string): string {
  return `${date}T00:00:00`;
}

function recurrenceOf({ intervalType, intervalAmount, description }: NonNullable<Shift['recurrence']>, from: string) {
  return {
    rec_start_date: midnight(from),
    recur_interval_type: intervalType,
    recur_interval_amount: intervalAmount,
    recur_interval_description: blankToNull(description) ?? `Every ${intervalAmount} ${intervalType}`,
  };
}

function visitTypeRuleOf(rule: Shift['visitRules'][number]) {
  return {
    start_time: `${rule.startTime}:00`,
    end_time: `${rule.endTime}:00`,
    total_visits: rule.visits,
    visit_type_id: rule.visitTypeCode,
    visit_type_desc: rule.visitTypeName,
  };
}
