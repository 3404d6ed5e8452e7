import type * as fhir from 'fhir/r4.js';
import type { OrderSource } from '../../../model/records/orders.ts';
import { parseInstant } from '../../../platform/time/days.ts';
import type { MrnRule } from '../../connector.ts';
import { dependent, incrementalList, type List } from '../lists.ts';
import type { FhirOperation } from '../operation.ts';
import { isOwnReferral } from '../patients/doctors.ts';
import { isReplaced, readMrn } from '../patients/mrn.ts';
import {
  type Emr,
  findReferencing,
  findReferred,
  loadPractitioners,
  type Practitioners,
  practitionerId,
  type Resolver,
  refId,
  refIds,
} from '../references.ts';
import { listsOrExports, reads } from '../transport/capabilities.ts';
import { first, groupBy, list, number, readCode, readLabel, readName, text, toDay } from '../values.ts';
import { isSentReferral } from './referrals.ts';

export const orders: List<fhir.ServiceRequest, OrderSource> = {
  type: 'ServiceRequest',
  toSources,
  dependents: [
    dependent(
      'DiagnosticReport',
      (report: fhir.DiagnosticReport) => refIds(list(report.basedOn), 'ServiceRequest')[0] ?? null,
    ),
  ],
};

/** Records that an order refers to, and its results. */
export type RelatedRecords = Practitioners & {
  mrn_rule: MrnRule | undefined;
  patients: ReadonlyMap<string, fhir.Patient>;
  encounters: ReadonlyMap<string, fhir.Encounter>;
  reports: ReadonlyMap<string, fhir.DiagnosticReport[]>;
  observations: ReadonlyMap<string, fhir.Observation>;
};

async function toSources(page: fhir.ServiceRequest[], emr: Emr, resolver: Resolver): Promise<OrderSource[]> {
  const relevant = page.filter(
    (each) =>
      each.status !== 'entered-in-error' && each.doNotPerform !== true && !isOwnReferral(each) && !isSentReferral(each),
  );
  const people = relevant.flatMap(({ requester, performer }) => [requester, ...list(performer)]);
  const subjects = relevant.map(({ subject }) => subject);
  const visits = relevant.map(({ encounter }) => encounter);
  const refs = relevant.map(({ id }) => `ServiceRequest/${id}`);
  const reports = await findReferencing<fhir.DiagnosticReport>(emr.client, 'DiagnosticReport', ['based-on'], refs);
  const results = reports.flatMap(({ result }) => list(result));
  const related: RelatedRecords = {
    mrn_rule: emr.client.mrn_rule,
    ...(await loadPractitioners(resolver, people)),
    patients: await resolver.load<fhir.Patient>('Patient', refIds(subjects, 'Patient')),
    encounters: await resolver.load<fhir.Encounter>('Encounter', refIds(visits, 'Encounter')),
    reports: groupBy(reports, ({ basedOn }) => refIds(list(basedOn), 'ServiceRequest')[0] ?? ''),
    observations: await resolver.load<fhir.Observation>('Observation', refIds(results, 'Observation')),
  };
  return relevant.map((each) => toOrder(each, related, emr.timezone)).filter((each) => each !== undefined);
}

/** Returns undefined for an order without a patient or a date, because orders are listed by both. */
export function toOrder(
  order: fhir.ServiceRequest,
  related: RelatedRecords,
  timezone: string,
): OrderSource | undefined {
  const patient = related.patients.get(refId(order.subject, 'Patient') ?? '');
  const order_date = readOrderDate(order, timezone);
  if (!patient || isReplaced(patient) || order_date === null) return undefined;
  const [assigned] = list(order.performer);
  const assigned_id = practitionerId(assigned, related.roles);
  const visit = related.encounters.get(refId(order.encounter, 'Encounter') ?? '');
  return {
    ehr_id: order.id ?? '',
    order_name: readLabel(order.code) ?? '',
    order_date,
    provider_id: practitionerId(order.requester, related.roles),
    patient_mrn: readMrn(patient, related.mrn_rule),
    patient_name: readName(patient.name).full,
    patient_dob: toDay(patient.birthDate, timezone),
    appointment_id: refIds(list(visit?.appointment), 'Appointment')[0] ?? null,
    priority: text(order.priority),
    assigned_to_name: readName(related.practitioners.get(assigned_id ?? '')?.name).full ?? text(assigned?.display),
    emr_assigned_to_id: assigned_id,
    lab_results: toLabResults(related.reports.get(order.id ?? '') ?? [], related.observations, timezone),
  };
}

/** When it was ordered, else when it is due, else when it was stored. */
function readOrderDate(order: fhir.ServiceRequest, timezone: string): string | null {
  const { authoredOn, occurrenceDateTime, occurrencePeriod, meta } = order;
  return first([authoredOn, occurrenceDateTime, occurrencePeriod?.start, meta?.lastUpdated], (at) =>
    toDay(at, timezone),
  );
}

/** The status of the newest report, and the results of all reports. */
function toLabResults(
  reports: readonly fhir.DiagnosticReport[],
  observations: RelatedRecords['observations'],
  timezone: string,
): OrderSource['lab_results'] {
  const valid = reports.filter(({ status }) => status !== 'entered-in-error' && status !== 'cancelled');
  const issuedAt = ({ issued }: fhir.DiagnosticReport) => parseInstant(text(issued) ?? '') ?? 0;
  const [newest] = valid.toSorted((a, b) => issuedAt(b) - issuedAt(a));
  if (!newest) return null;
  const { effectiveDateTime, effectivePeriod } = newest;
  return {
    status: text(newest.status),
    collected_on: toDay(effectiveDateTime, timezone) ?? toDay(effectivePeriod?.start, timezone),
    resulted_on: toDay(newest.issued, timezone),
    laboratory: first(list(newest.performer), ({ display }) => text(display)),
    results: valid.flatMap((report) =>
      list(report.result).flatMap((reference) => {
        const observation = findReferred<fhir.Observation>(report, reference, 'Observation', observations);
        return observation ? toResults(observation) : [];
      }),
    ),
  };
}

/** One measurement, or the components of a panel. */
function toResults(observation: fhir.Observation): Record<string, unknown>[] {
  const parts = [observation, ...list(observation.component)];
  return parts
    .map((part) => ({
      test: readLabel(part.code) ?? '',
      ...readMeasurement(part),
      range: formatRange(list(part.referenceRange)[0]),
      abnormal_flag: readCode(list(part.interpretation)[0]),
    }))
    .filter(({ value }) => value !== null);
}

function readMeasurement(part: fhir.Observation | fhir.ObservationComponent): {
  value: string | null;
  unit: string | null;
} {
  const { valueQuantity: quantity, valueString, valueCodeableConcept: concept } = part;
  if (number(quantity?.value) !== null) {
    const value = `${text(quantity?.comparator) ?? ''}${quantity?.value}`;
    return { value, unit: text(quantity?.unit) ?? text(quantity?.code) };
  }
  const other = [part.valueInteger, part.valueBoolean, part.valueDateTime, part.valueTime].find(
    (each) => each !== undefined,
  );
  const value = text(valueString) ?? readLabel(concept) ?? (other === undefined ? null : String(other));
  return { value, unit: null };
}

function formatRange(range: fhir.ObservationReferenceRange | undefined): string | null {
  const [low, high] = [number(range?.low?.value), number(range?.high?.value)];
  if (text(range?.text) !== null) return text(range?.text);
  if (low !== null && high !== null) return `${low}-${high}`;
  if (low !== null) return `>=${low}`;
  return high === null ? null : `<=${high}`;
}

export const order_operations: readonly FhirOperation[] = [
  {
    operation: 'listOrders',
    requires: [listsOrExports('ServiceRequest'), reads('Patient')],
    open: (emr) => incrementalList(emr, orders),
  },
];
