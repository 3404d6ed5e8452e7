import { addDays } from '../../../platform/time/days.ts';
import type { ListPlan, SearchPlan } from './capabilities.ts';
import { type ExportTarget, isExportedWhole } from './exports.ts';
import type { Resource, SampleSearch } from './paramProbes.ts';
import type { SearchParams } from './search.ts';

/** Every record was changed after this day. */
export const first_day = '1900-01-01';
/** The days around today that a list by days contains. */
export const past_days = 30;
export const future_days = 180;

/**
 * The plan by which the server lists a type, the first one of the table that it accepts. A plan that finds nothing counts
 * only if no other one finds something. `unknown`: the server did not respond.
 */
export async function findPlan(
  type: string,
  declared: ReadonlySet<string>,
  find: SampleSearch,
  samples: ReadonlyMap<string, { records: readonly Resource[] }>,
): Promise<{ plan: SearchPlan; records: Resource[] } | 'none' | 'unknown'> {
  let unproven: SearchPlan | undefined;
  let unknown = false;
  for (const candidate of listCandidates(type, declared)) {
    const outcome = await tryCandidate(candidate, find, samples);
    if (outcome === 'unknown') unknown = true;
    else if (outcome !== 'rejected') {
      if (outcome.records.length > 0) return outcome;
      unproven ??= outcome.plan;
    }
  }
  if (unproven) return { plan: unproven, records: [] };
  return unknown ? 'unknown' : 'none';
}

/** What a plan does, as a sentence of the connection report. */
export function describePlan(type: string, plan: ListPlan, target: ExportTarget | undefined): string {
  const what = `${type} records are read`;
  if (plan.by === 'export') {
    const of =
      target?.path === 'Patient' || !target ? 'all patients' : `the group ${target.path.replace('Group/', '')}`;
    const rest = isExportedWhole(type) ? '' : ' Only those that its records refer to are known, and none is removed.';
    return `${what} by bulk export of ${of}, changes every few hours.${rest}`;
  }
  if (plan.by === 'birth_dates') {
    return `${what} by ranges of dates of birth. Those without one are missed, and none is removed.`;
  }
  if (plan.by === 'days') {
    const range = `from ${past_days} days ago to ${future_days} days ahead`;
    return plan.for_each ? `${what} for each ${plan.for_each.type}, ${range}.` : `${what} ${range}.`;
  }
  const params = [...new Set(plan.searches.flatMap((search) => Object.keys(search)))].join(' and ');
  const count = plan.searches.length === 1 ? 'one search' : `${plan.searches.length} searches`;
  const rest = plan.partial ? ' Records that match none of them are missed, and none is removed.' : '';
  return `${what} by ${count} for ${params}.${rest}`;
}

/** A closed range of days. `to` is included. */
export function rangeParams(param: string, { from, to }: { from: string; to: string }): SearchParams {
  return { [param]: [`ge${from}`, `le${to}`] };
}

export function windowAround(today: string): { from: string; to: string } {
  return { from: addDays(today, -past_days), to: addDays(today, future_days) };
}

type Candidate =
  | { by: 'searches'; searches: readonly SearchParams[]; partial?: true }
  | { by: 'birth_dates'; param: string }
  | { by: 'days'; param: string; for_each?: { type: 'Location' | 'Practitioner'; param: string } };

const changed: Candidate = { by: 'searches', searches: [{ _lastUpdated: `ge${first_day}` }] };

/** All codes of an element that every record has. */
function byCodes(param: string, codes: readonly string[]): Candidate {
  return { by: 'searches', searches: codes.map((code) => ({ [param]: code })) };
}

/** The same for an optional element. A record without it is missed. */
function byOptionalCodes(param: string, codes: readonly string[]): Candidate {
  return { by: 'searches', searches: codes.map((code) => ({ [param]: code })), partial: true };
}

/** Names match by prefix. One that starts with another character is missed. */
function byInitials(param: string, initials: string): Candidate {
  return { by: 'searches', searches: [...initials].map((initial) => ({ [param]: initial })), partial: true };
}

const letters = 'abcdefghijklmnopqrstuvwxyz';
const active = byOptionalCodes('active', ['true', 'false']);

/** Payers, and pharmacies in the codes by which they are recognized (practice/organizations.ts). */
const organization_types = [
  'ins',
  'pay',
  '264372000',
  'PHARM',
  'OUTPHARM',
  '333600000X',
  '3336C0002X',
  '3336C0003X',
  '3336C0004X',
  '3336H0001X',
  '3336I0012X',
  '3336L0003X',
  '3336M0002X',
  '3336M0003X',
  '3336N0007X',
  '3336S0011X',
];

/** The order in which the types are probed: appointments may be listed for each location. */
const candidates: Readonly<Record<string, readonly Candidate[]>> = {
  Practitioner: [changed, active, byInitials('name', letters)],
  Location: [
    changed,
    byOptionalCodes('status', ['active', 'suspended', 'inactive']),
    // Sites and buildings. Oracle lists rooms and beds, too.
    byOptionalCodes('-physicalType', ['si', 'bu']),
    byInitials('name', `${letters}0123456789`),
  ],
  Organization: [byCodes('type', organization_types), changed, byInitials('name', `${letters}0123456789`)],
  Patient: [changed, { by: 'birth_dates', param: 'birthdate' }, active, byInitials('name', letters)],
  Appointment: [
    changed,
    { by: 'days', param: 'date' },
    { by: 'days', param: 'date', for_each: { type: 'Location', param: 'location' } },
    { by: 'days', param: 'date', for_each: { type: 'Practitioner', param: 'practitioner' } },
  ],
  ServiceRequest: [
    changed,
    byCodes('status', ['active', 'completed', 'draft', 'on-hold', 'revoked', 'entered-in-error', 'unknown']),
  ],
  Claim: [changed, byCodes('status', ['active', 'cancelled', 'draft', 'entered-in-error'])],
  Coverage: [changed, byCodes('status', ['active', 'cancelled', 'draft', 'entered-in-error'])],
  CoverageEligibilityResponse: [changed, byCodes('status', ['active', 'cancelled', 'draft', 'entered-in-error'])],
};

/** The types that are listed by a plan where the server refuses the whole list. */
export const planned_types: readonly string[] = Object.keys(candidates);

function listCandidates(type: string, declared: ReadonlySet<string>): Candidate[] {
  return (candidates[type] ?? []).filter((candidate) => {
    if (candidate.by === 'searches') return candidate.searches.every((search) => declared.has(firstKey(search)));
    return (
      declared.has(candidate.param) && (candidate.by !== 'days' || declared.has(candidate.for_each?.param ?? 'date'))
    );
  });
}

function firstKey(params: SearchParams): string {
  return Object.keys(params)[0] ?? '';
}

/** How many searches of a plan are tried to find records. */
const tried_max = 6;

async function tryCandidate(
  candidate: Candidate,
  find: SampleSearch,
  samples: ReadonlyMap<string, { records: readonly Resource[] }>,
): Promise<{ plan: SearchPlan; records: Resource[] } | 'rejected' | 'unknown'> {
  const tried = listSamples(candidate, samples);
  let accepted: SearchParams | undefined;
  for (const sample of tried) {
    const { outcome, records } = await find(sample);
    if (outcome === 'unknown') return 'unknown';
    if (outcome === 'matches') return { plan: { ...candidate, sample }, records };
    if (outcome === 'empty') accepted ??= sample;
    // A long range may be refused because too many records match, a short one is not.
    else if (candidate.by === 'searches') return 'rejected';
  }
  return accepted ? { plan: { ...candidate, sample: accepted }, records: [] } : 'rejected';
}

function listSamples(
  candidate: Candidate,
  samples: ReadonlyMap<string, { records: readonly Resource[] }>,
): SearchParams[] {
  const today = new Date().toISOString().slice(0, 10);
  if (candidate.by === 'searches') {
    // Few names start with the first letters of the alphabet's end.
    const { searches } = candidate;
    const step = Math.max(1, Math.floor(searches.length / tried_max));
    return candidate.partial
      ? searches.filter((_, n) => n % step === 0).slice(0, tried_max)
      : [...searches.slice(0, tried_max)];
  }
  if (candidate.by === 'birth_dates') {
    const ranges = [
      { from: first_day, to: today },
      { from: '1980-01-01', to: '1980-12-31' },
      { from: '1980-01-01', to: '1980-01-31' },
    ];
    return ranges.map((range) => rangeParams(candidate.param, range));
  }
  const { for_each, param } = candidate;
  const ranges = [windowAround(today), { from: addDays(today, -1), to: addDays(today, 1) }];
  if (!for_each) return ranges.map((range) => rangeParams(param, range));
  const owners = (samples.get(for_each.type)?.records ?? []).slice(0, tried_max);
  return owners.flatMap(({ id }) =>
    ranges.map((range) => ({ [for_each.param]: `${for_each.type}/${id}`, ...rangeParams(param, range) })),
  );
}
