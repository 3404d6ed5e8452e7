import type * as fhir from 'fhir/r4.js';
import { toInstant, withOffset } from '../../../platform/time/zones.ts';
import { EmrFailure } from '../../emrFailure.ts';
import type { NewAppointment } from '../../operations/appointments.ts';
import { readTextMarker, withTextMarker } from '../../textMarkers.ts';
import {
  canSearch,
  createResolver,
  type Emr,
  loadReferredRoles,
  readActors,
  refIds,
  requiredDays,
} from '../references.ts';
import { printable, readIssues } from '../transport/call.ts';
import { unproven } from '../transport/creates.ts';
import { list, searchDays, text, toLocalTime } from '../values.ts';
import { pickNew, requireId } from '../writeSteps.ts';
import { isTimeFree, readLocation, readMinutes, readProviders, type VisitType } from './appointments.ts';

/**
 * Books by the operations of Argonaut Scheduling: the server proposes appointments by its own rules (`$find`), and books
 * one of them if it is still free (`$book`). Returns the id of the appointment.
 */
export async function bookOffer(emr: Emr, input: NewAppointment, type: VisitType, marker: string): Promise<string> {
  const offer = await findOffer(emr, input, type);
  const parameters: fhir.ParametersParameter[] = [
    { name: 'appt-id', valueUri: `Appointment/${requireId(offer)}` },
    { name: 'patient-id', valueUri: `Patient/${input.patient_ehr_id}` },
    // The only text that the operation takes, and the only place for our marker.
    { name: 'comment', valueString: withTextMarker([text(input.reason), text(input.note)], marker) },
  ];
  const returned = await emr.client
    .operate({ type: 'Appointment', name: 'book', parameters, writes: true })
    .catch((error: unknown) => {
      if (error instanceof EmrFailure && error.kind === 'not_found') throw offerTaken([], error);
      throw error;
    });
  const booked = readAppointments(returned)[0];
  if (!booked) throw new EmrFailure('unknown_outcome', 'The EMR did not confirm what it stored.', { accepted: true });
  return confirmOffer(booked, readMessages(returned));
}

/** The id of an appointment that the server has booked. Throws if it has rejected it. */
export function confirmOffer(booked: fhir.Appointment, messages: readonly string[] = []): string {
  if (isTimeFree(booked)) throw offerTaken(messages);
  return requireId(booked);
}

/**
 * What an earlier attempt booked, by the marker in its comment. Undefined also if the server cannot be searched for it: an
 * attempt whose outcome is unknown was looked up before.
 */
export async function findBookedOffer(
  emr: Emr,
  input: NewAppointment,
  marker: string,
): Promise<fhir.Appointment | undefined> {
  if (!canFindAtStart(emr)) return undefined;
  const appointments = await findAtStart(emr, input).catch((error: unknown) => {
    if (error instanceof EmrFailure && error.undecided) return [];
    throw error;
  });
  return appointments.find(({ comment }) => readTextMarker(text(comment)) === marker);
}

/** The same after a lost response. Throws `unknown_outcome` if the server may have booked without keeping the comment. */
export async function findLostOffer(
  emr: Emr,
  input: NewAppointment,
  marker: string,
): Promise<fhir.Appointment | undefined> {
  const appointments = await findAtStart(emr, input);
  const marked = appointments.find(({ comment }) => readTextMarker(text(comment)) === marker);
  if (marked) return marked;
  const others = appointments.filter((each) => !isTimeFree(each) && !readTextMarker(text(each.comment)));
  if (pickNew(others, marker)) throw unproven();
  return undefined;
}

export function canFindAtStart({ client }: Pick<Emr, 'client'>): boolean {
  return ['patient', 'actor'].some((name) => canSearch(client, 'Appointment', [name]));
}

/** The patient's appointments that start at the requested time. Throws `unknown_outcome` if it cannot be determined. */
export async function findAtStart(
  { client, timezone }: Pick<Emr, 'client' | 'timezone'>,
  { patient_ehr_id, starts_at }: NewAppointment,
): Promise<fhir.Appointment[]> {
  const param = ['patient', 'actor'].find((name) => canSearch(client, 'Appointment', [name]));
  if (param === undefined) throw unproven();
  const start_ms = toInstant(starts_at, timezone);
  const day = new Date(start_ms).toISOString().slice(0, 10);
  const appointments = await client.searchAll<fhir.Appointment>('Appointment', {
    [param]: `Patient/${patient_ehr_id}`,
    ...requiredDays(client, 'Appointment'),
    ...(canSearch(client, 'Appointment', ['date']) && { date: searchDays(day, day) }),
  });
  // An account may be allowed to create appointments and not to see them.
  if (appointments.length === 0 && !client.capabilities.finds('Appointment', param)) throw unproven();
  return appointments.filter(
    (each) => Date.parse(each.start ?? '') === start_ms && refIds(readActors(each), 'Patient').includes(patient_ehr_id),
  );
}

/** The proposed appointment at the requested time. Throws a failure that says what the server offers instead. */
async function findOffer(emr: Emr, input: NewAppointment, type: VisitType): Promise<fhir.Appointment> {
  const { client, timezone } = emr;
  const { system, code = '' } = type.coding;
  const day = input.starts_at.slice(0, 10);
  const reference = (name: string, valueUri: string): fhir.ParametersParameter => ({ name, valueUri });
  const proposed = await client.operate({
    type: 'Appointment',
    name: 'find',
    parameters: [
      { name: 'start', valueDateTime: withOffset(`${day}T00:00:00`, timezone) },
      { name: 'end', valueDateTime: withOffset(`${day}T23:59:59`, timezone) },
      reference('practitioner', `Practitioner/${input.provider_ehr_id}`),
      reference('location-reference', `Location/${input.location_ehr_id}`),
      reference('patient-reference', `Patient/${input.patient_ehr_id}`),
      // Servers have their own visit types. The general ones of FHIR would find nothing.
      ...(type.field === 'serviceType'
        ? [{ name: 'visit-type', valueString: system === undefined ? code : `${system}|${code}` }]
        : []),
    ],
  });
  const offers = await selectOffers(emr, input, readAppointments(proposed));
  const start_ms = toInstant(input.starts_at, timezone);
  const at_start = offers.filter(({ start }) => Date.parse(start ?? '') === start_ms);
  // As with slots, one that is longer is taken whole.
  const [offer] = at_start
    .filter((each) => readMinutes(each) >= (input.minutes ?? 0))
    .sort((a, b) => readMinutes(a) - readMinutes(b));
  if (offer) return offer;
  const [shorter] = at_start;
  const times = [...new Set(offers.map(({ start }) => toLocalTime(start, timezone)?.slice(11, 16) ?? ''))].sort();
  const rule = shorter
    ? `The EMR offers only ${readMinutes(shorter)} minutes at this time.`
    : times.length > 0
      ? `The EMR does not offer this time. On this day it offers ${listTimes(times)}.`
      : 'The EMR offers no such appointment on this day.';
  throw refusal([rule, ...readMessages(proposed)]);
}

/** Those of the requested provider and location: a server may ignore a parameter, or propose what comes close. */
async function selectOffers(
  { client }: Emr,
  { provider_ehr_id, location_ehr_id }: NewAppointment,
  offers: readonly fhir.Appointment[],
): Promise<fhir.Appointment[]> {
  const resolver = createResolver(client);
  const roles = await loadReferredRoles(resolver, offers.flatMap(readActors));
  return offers.filter((each) => {
    const providers = readProviders(each, { roles, owners: new Map() });
    const location = readLocation(each) ?? location_ehr_id;
    return (
      each.status === 'proposed' &&
      (providers.length === 0 || providers.includes(provider_ehr_id)) &&
      location === location_ehr_id
    );
  });
}

const times_max = 8;

function listTimes(times: readonly string[]): string {
  const more = times.length > times_max ? ` and ${times.length - times_max} more` : '';
  return `${times.slice(0, times_max).join(', ')}${more}`;
}

function offerTaken(messages: readonly string[], cause?: EmrFailure): EmrFailure {
  return refusal(['The EMR did not book the appointment: the time is no longer free.', ...messages], cause);
}

function refusal(sentences: readonly string[], cause?: EmrFailure): EmrFailure {
  const conflict_details = sentences.join(' ');
  return new EmrFailure('refused', conflict_details, {
    code: 'slot_taken',
    details: { conflict_type: 'block', conflict_details },
    cause,
  });
}

/** The operations return a Bundle, or the appointment alone. */
function readAppointments(returned: fhir.FhirResource | undefined): fhir.Appointment[] {
  return readResources(returned).filter((each) => each.resourceType === 'Appointment');
}

/** The server's reasons, in a Bundle next to its appointments. */
function readMessages(returned: fhir.FhirResource | undefined): string[] {
  const issues = readResources(returned).flatMap((each) =>
    each.resourceType === 'OperationOutcome' ? readIssues(each) : [],
  );
  const messages = issues.map((issue) => printable(issue?.details?.text) ?? printable(issue?.diagnostics));
  return [...new Set(messages.filter((message) => message !== undefined))].slice(0, 3);
}

function readResources(returned: fhir.FhirResource | undefined): fhir.FhirResource[] {
  if (returned?.resourceType !== 'Bundle') return returned ? [returned] : [];
  // The types of the standard's resources differ from that of an entry in optional elements only.
  return list(returned.entry).flatMap(({ resource }) => (resource ? [resource as fhir.FhirResource] : []));
}
