import type * as fhir from 'fhir/r4.js';
import type { OrderSource } from '../../../model/records/orders.ts';
import type { MrnRule } from '../../connector.ts';
import { isOwnReferral } from '../charts/referrals.ts';
import { dayOf } from '../clock.ts';
import { isReplaced, mrnOf } from '../mrn.ts';
import { containedResource, type Emr, findReferencing, type Resolver, refId, refIds } from '../references.ts';
import { codeOf, first, groupBy, labelOf, list, nameOf, number, text } from '../values.ts';
import type { List } from './readList.ts';

export const orders: List<fhir.ServiceRequest, OrderSource> = {
  type: 'ServiceRequest',
  toSources,
  dependents: [
    {
      type: 'DiagnosticReport',
      owner: (report: fhir.DiagnosticReport) => refIds(list(report.basedOn), 'ServiceRequest')[0] ?? null,
    },
  ],
};

/** Records that an order refers to, and its results. */
export type RelatedRecords = {
  mrn_rule: MrnRule | undefined;
  patients: ReadonlyMap<string, fhir.Patient>;
  practitioners: ReadonlyMap<string, fhir.Practitioner>;
  roles: ReadonlyMap<string, fhir.PractitionerRole>;
  encounters: ReadonlyMap<string, fhir.Encounter>;
  reports: ReadonlyMap<string, fhir.DiagnosticReport[]>;
  observations: ReadonlyMap<string, fhir.Observation>;
};

async function toSources(page: fhir.ServiceRequest[], emr: Emr, resolver: Resolver): Promise<OrderSource[]> {
  const relevant = page.filter(
    (each) => each.status !== 'entered-in-error' && each.doNotPerform !== true && !isOwnReferral(each),
  );
  const people = relevant.flatMap(({ requester, performer }) => [requester, ...list(performer)]);
  const roles = await resolver.load<fhir.PractitionerRole>('PractitionerRole', refIds(people, 'PractitionerRole'));
  const named = [...people, ...[...roles.values()].map(({ practitioner }) => practitioner)];
  const subjects = relevant.map(({ subject }) => subject);
  const visits = relevant.map(({ encounter }) => encounter);
  const refs = relevant.map(({ id }) => `ServiceRequest/${id}`);
  const reports = await findReferencing<fhir.DiagnosticReport>(emr.client, 'DiagnosticReport', ['based-on'], refs);
  const results = reports.flatMap(({ result }) => list(result));
  const related: RelatedRecords = {
    mrn_rule: emr.client.mrn_rule,
    roles,
    patients: await resolver.load<fhir.Patient>('Patient', refIds(subjects, 'Patient')),
    practitioners: await resolver.load<fhir.Practitioner>('Practitioner', refIds(named, 'Practitioner')),
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
  const order_date = dateOf(order, timezone);
  if (!patient || isReplaced(patient) || order_date === null) return undefined;
  const [assigned] = list(order.performer);
  const assigned_id = personIn(assigned, related);
  const visit = related.encounters.get(refId(order.encounter, 'Encounter') ?? '');
  return {
    ehr_id: order.id ?? '',
    order_name: labelOf(order.code) ?? '',
    order_date,
    provider_id: personIn(order.requester, related),
    patient_mrn: mrnOf(patient, related.mrn_rule),
    patient_name: nameOf(patient.name).full,
    patient_dob: dayOf(patient.birthDate, timezone),
    appointment_id: refIds(list(visit?.appointment), 'Appointment')[0] ?? null,
    priority: text(order.priority),
    assigned_to_name: nameOf(related.practitioners.get(assigned_id ?? '')?.name).full ?? text(assigned?.display),
    emr_assigned_to_id: assigned_id,
    lab_results: toLabResults(related.reports.get(order.id ?? '') ?? [], related.observations, timezone),
  };
}

/** When it was ordered, else when it is due, else when it was stored. */
function dateOf(order: fhir.ServiceRequest, timezone: string): string | null {
  const { authoredOn, occurrenceDateTime, occurrencePeriod, meta } = order;
  return first([authoredOn, occurrenceDateTime, occurrencePeriod?.start, meta?.lastUpdated], (at) =>
    dayOf(at, timezone),
  );
}

function personIn(reference: fhir.Reference | undefined, { roles }: RelatedRecords): string | null {
  const role = roles.get(refId(reference, 'PractitionerRole') ?? '');
  return refId(reference, 'Practitioner') ?? refId(role?.practitioner, 'Practitioner');
}

/** The status of the newest report, and the results of all reports. */
function toLabResults(
  reports: readonly fhir.DiagnosticReport[],
  observations: RelatedRecords['observations'],
  timezone: string,
): OrderSource['lab_results'] {
  const known = reports.filter(({ status }) => status !== 'entered-in-error' && status !== 'cancelled');
  const [newest] = known.toSorted((a, b) => (text(b.issued) ?? '').localeCompare(text(a.issued) ?? ''));
  if (!newest) return null;
  const { effectiveDateTime, effectivePeriod } = newest;
  return {
    status: text(newest.status),
    collected_on: dayOf(effectiveDateTime, timezone) ?? dayOf(effectivePeriod?.start, timezone),
    resulted_on: dayOf(newest.issued, timezone),
    laboratory: first(list(newest.performer), ({ display }) => text(display)),
    results: known.flatMap((report) =>
      list(report.result).flatMap((reference) => {
        const contained = containedResource<fhir.Observation>(report, reference, 'Observation');
        const observation = contained ?? observations.get(refId(reference, 'Observation') ?? '');
        return observation ? observedIn(observation) : [];
      }),
    ),
  };
}

/** One measurement, or the components of a panel. */
function observedIn(observation: fhir.Observation): Record<string, unknown>[] {
  const parts = [observation, ...list(observation.component)];
  return parts
    .map((part) => ({
      test: labelOf(part.code) ?? '',
      ...measured(part),
      range: rangeOf(list(part.referenceRange)[0]),
      abnormal_flag: codeOf(list(part.interpretation)[0]),
    }))
    .filter(({ value }) => value !== null);
}

function measured(part: fhir.Observation | fhir.ObservationComponent): { value: string | null; unit: string | null } {
  const { valueQuantity: quantity, valueString, valueCodeableConcept: concept } = part;
  if (number(quantity?.value) !== null) {
    const value = `${text(quantity?.comparator) ?? ''}${quantity?.value}`;
    return { value, unit: text(quantity?.unit) ?? text(quantity?.code) };
  }
  const other = [part.valueInteger, part.valueBoolean, part.valueDateTime, part.valueTime].find(
    (each) => each !== undefined,
  );
  const value = text(valueString) ?? labelOf(concept) ?? (other === undefined ? null : String(other));
  return { value, unit: null };
}

function rangeOf(range: fhir.ObservationReferenceRange | undefined): string | null {
  const [low, high] = [number(range?.low?.value), number(range?.high?.value)];
  if (text(range?.text) !== null) return text(range?.text);
  if (low !== null && high !== null) return `${low}-${high}`;
  if (low !== null) return `>=${low}`;
  return high === null ? null : `<=${high}`;
}
