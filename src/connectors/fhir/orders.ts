import type * as fhir from 'fhir/r4.js';
import type { OrderSource } from '../../model/records/orders.ts';
import { dayOf } from './clock.ts';
import type { List } from './lists.ts';
import { isReplaced, mrnOf } from './patients.ts';
import { containedIn, type Emr, idIn, idsIn, type Resolver, referringTo } from './references.ts';
import { codeOf, first, grouped, list, nameOf, number, text, wordsOf } from './values.ts';

export const orders: List<fhir.ServiceRequest, OrderSource> = {
  type: 'ServiceRequest',
  sources: sourcesOf,
  touching: [
    {
      type: 'DiagnosticReport',
      owner: (report: fhir.DiagnosticReport) => idsIn(list(report.basedOn), 'ServiceRequest')[0] ?? null,
    },
  ],
};

/** What an order takes from those it names, and its results. */
export type Surroundings = {
  patients: ReadonlyMap<string, fhir.Patient>;
  practitioners: ReadonlyMap<string, fhir.Practitioner>;
  roles: ReadonlyMap<string, fhir.PractitionerRole>;
  encounters: ReadonlyMap<string, fhir.Encounter>;
  reports: ReadonlyMap<string, fhir.DiagnosticReport[]>;
  observations: ReadonlyMap<string, fhir.Observation>;
};

async function sourcesOf(page: fhir.ServiceRequest[], emr: Emr, resolver: Resolver): Promise<OrderSource[]> {
  const meant = page.filter(({ status, doNotPerform }) => status !== 'entered-in-error' && doNotPerform !== true);
  const people = meant.flatMap(({ requester, performer }) => [requester, ...list(performer)]);
  const roles = await resolver.load<fhir.PractitionerRole>('PractitionerRole', idsIn(people, 'PractitionerRole'));
  const named = [...people, ...[...roles.values()].map(({ practitioner }) => practitioner)];
  const subjects = meant.map(({ subject }) => subject);
  const visits = meant.map(({ encounter }) => encounter);
  const references = meant.map(({ id }) => `ServiceRequest/${id}`);
  const reports = await referringTo<fhir.DiagnosticReport>(emr.client, 'DiagnosticReport', ['based-on'], references);
  const results = reports.flatMap(({ result }) => list(result));
  const around: Surroundings = {
    roles,
    patients: await resolver.load<fhir.Patient>('Patient', idsIn(subjects, 'Patient')),
    practitioners: await resolver.load<fhir.Practitioner>('Practitioner', idsIn(named, 'Practitioner')),
    encounters: await resolver.load<fhir.Encounter>('Encounter', idsIn(visits, 'Encounter')),
    reports: grouped(reports, ({ basedOn }) => idsIn(list(basedOn), 'ServiceRequest')[0] ?? ''),
    observations: await resolver.load<fhir.Observation>('Observation', idsIn(results, 'Observation')),
  };
  return meant.map((each) => orderOf(each, around, emr.timezone)).filter((each) => each !== undefined);
}

/** An order for somebody else than a patient, or without any day, has no place in a list by patient and day. */
export function orderOf(order: fhir.ServiceRequest, around: Surroundings, timezone: string): OrderSource | undefined {
  const patient = around.patients.get(idIn(order.subject, 'Patient') ?? '');
  const order_date = dateOf(order, timezone);
  if (!patient || isReplaced(patient) || order_date === null) return undefined;
  const [assigned] = list(order.performer);
  const assigned_id = personIn(assigned, around);
  const visit = around.encounters.get(idIn(order.encounter, 'Encounter') ?? '');
  return {
    ehr_id: order.id ?? '',
    order_name: wordsOf(order.code) ?? '',
    order_date,
    provider_id: personIn(order.requester, around),
    patient_mrn: mrnOf(patient),
    patient_name: nameOf(patient.name).full,
    patient_dob: dayOf(patient.birthDate, timezone),
    appointment_id: idsIn(list(visit?.appointment), 'Appointment')[0] ?? null,
    priority: text(order.priority),
    assigned_to_name: nameOf(around.practitioners.get(assigned_id ?? '')?.name).full ?? text(assigned?.display),
    emr_assigned_to_id: assigned_id,
    lab_results: resultsOf(around.reports.get(order.id ?? '') ?? [], around.observations, timezone),
  };
}

/** When it was ordered, else when it is to be done, else when it was stored. */
function dateOf(order: fhir.ServiceRequest, timezone: string): string | null {
  const { authoredOn, occurrenceDateTime, occurrencePeriod, meta } = order;
  return first([authoredOn, occurrenceDateTime, occurrencePeriod?.start, meta?.lastUpdated], (at) =>
    dayOf(at, timezone),
  );
}

function personIn(reference: fhir.Reference | undefined, { roles }: Surroundings): string | null {
  const role = roles.get(idIn(reference, 'PractitionerRole') ?? '');
  return idIn(reference, 'Practitioner') ?? idIn(role?.practitioner, 'Practitioner');
}

/** The reports on an order: the newest says how far it is, the results are those of all. */
function resultsOf(
  reports: readonly fhir.DiagnosticReport[],
  observations: Surroundings['observations'],
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
        const held = containedIn<fhir.Observation>(report, reference, 'Observation');
        const observation = held ?? observations.get(idIn(reference, 'Observation') ?? '');
        return observation ? observedIn(observation) : [];
      }),
    ),
  };
}

/** One measurement, or the several that a panel consists of. */
function observedIn(observation: fhir.Observation): Record<string, unknown>[] {
  const parts = [observation, ...list(observation.component)];
  return parts
    .map((part) => ({
      test: wordsOf(part.code) ?? '',
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
  const value = text(valueString) ?? wordsOf(concept) ?? (other === undefined ? null : String(other));
  return { value, unit: null };
}

function rangeOf(range: fhir.ObservationReferenceRange | undefined): string | null {
  const [low, high] = [number(range?.low?.value), number(range?.high?.value)];
  if (text(range?.text) !== null) return text(range?.text);
  if (low !== null && high !== null) return `${low}-${high}`;
  if (low !== null) return `>=${low}`;
  return high === null ? null : `<=${high}`;
}
