import type * as fhir from 'fhir/r4.js';
import type { VisitCodeSource } from '../../../model/records/visitTypes.ts';
import type { Listing } from '../../connector.ts';
import { canSearch, type Emr } from '../references.ts';
import { list, text } from '../values.ts';
import { anyChanged, wholeList } from './readList.ts';

/** FHIR's appointment statuses, without `entered-in-error`. */
export async function* listVisitStatuses(): AsyncGenerator<VisitCodeSource[]> {
  yield statuses.map(([code, description]) => ({ ehr_id: code, code, description, minutes: null }));
}

export function visitTypes(emr: Emr): Listing<VisitCodeSource> {
  return wholeList(
    emr,
    ['Schedule'],
    (since) => anyChanged(emr, ['Schedule'], since),
    () => listVisitTypes(emr),
  );
}

/** FHIR's appointment types, and the service types of this practice's schedules. */
async function* listVisitTypes(emr: Emr): AsyncGenerator<VisitCodeSource[]> {
  const types = await visitTypesOf(emr);
  yield [...types].map(([code, { coding }]) => ({
    ehr_id: code,
    code,
    description: text(coding.display) ?? code,
    minutes: null,
  }));
}

/** A visit type, and the field of an appointment that contains it. */
export type VisitType = { field: 'appointmentType' | 'serviceType'; coding: fhir.Coding };

export async function visitTypesOf({ client }: Emr): Promise<Map<string, VisitType>> {
  const types = new Map<string, VisitType>();
  for (const [code, display] of kinds) types.set(code, { field: 'appointmentType', coding: { system, code, display } });
  if (!canSearch(client, 'Schedule')) return types;
  for await (const { matches } of client.search<fhir.Schedule>('Schedule', {})) {
    for (const coding of matches.flatMap(({ serviceType }) => list(serviceType)).flatMap((each) => list(each.coding))) {
      const code = text(coding.code);
      if (code !== null && !types.has(code)) types.set(code, { field: 'serviceType', coding });
    }
  }
  return types;
}

const system = 'http://terminology.hl7.org/CodeSystem/v2-0276';
const kinds = [
  ['CHECKUP', 'A routine check-up, such as an annual physical'],
  ['EMERGENCY', 'Emergency appointment'],
  ['FOLLOWUP', 'A follow up visit from a previous appointment'],
  ['ROUTINE', 'Routine appointment - default if not valued'],
  ['WALKIN', 'A previously unscheduled walk-in visit'],
] as const;

const statuses = [
  ['proposed', 'Proposed'],
  ['pending', 'Pending'],
  ['booked', 'Booked'],
  ['arrived', 'Arrived'],
  ['fulfilled', 'Fulfilled'],
  ['cancelled', 'Cancelled'],
  ['noshow', 'No Show'],
  ['checked-in', 'Checked In'],
  ['waitlist', 'Waitlisted'],
] as const;
