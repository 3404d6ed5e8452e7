import { randomInt, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Secret, TOTP } from 'otpauth';
import { Chartwire } from '../../../sdk/src/client.ts';
import { JobFailedError, LoginRequiredError } from '../../../sdk/src/errors.ts';
import { StartFailure } from '../../catalog/errors.ts';
import { type EventTrigger, type EventType, events, type TriggerRequest } from '../../model/events.ts';
import { callControl } from './faultSwitches.ts';
import type { Sandbox } from './seedSandbox.ts';

/** An event as `GET /v1/webhook-events` returns it, or as it was sent. */
export type TriggeredEvent = { id: string; type: string; job_id?: string | number; data: object };

/** Makes a real event happen in the sandbox, by a request of the API and, where needed, a fault in the EMR. */
export async function triggerEvent(sandbox: Sandbox, type: EventType, observe: Observe): Promise<TriggeredEvent> {
  const event = await runTrigger(createScene(sandbox, observe), events[type].trigger);
  if (event.type === type) return event;
  throw new StartFailure(`The sandbox sent the event ${event.type} instead of ${type}.`);
}

/** Runs the work, which returns the ID of a job, and returns the event of the job as the client's stream shows it. */
export type Observe = (work: () => Promise<number>) => Promise<TriggeredEvent>;

/** What the triggers work with. */
type Scene = {
  sandbox: Sandbox;
  observe: Observe;
  client: Chartwire;
  control: <T>(method: string, path: string, body?: unknown) => Promise<T>;
};

function createScene(sandbox: Sandbox, observe: Observe): Scene {
  const { base_url: baseUrl, client_id: clientId, client_secret: clientSecret, access_token: accessToken } = sandbox;
  return {
    sandbox,
    observe,
    client: new Chartwire({ baseUrl, clientId, clientSecret, accessToken, retriesMax: 2 }),
    control: (method, path, body) => callControl(sandbox.larkspur, method, path, body),
  };
}

/** A request that is ready to be sent. */
type Prepared = {
  /** Returns the event of its job. Throws JobFailedError, which has the event, if the job fails. */
  send: () => Promise<TriggeredEvent | undefined>;
  /** The same request for another account, without waiting for its job. */
  start?: (client: Chartwire) => Promise<{ job_id: number }>;
  /** Removes what was prepared in the EMR. */
  undo?: () => Promise<unknown>;
};

async function runTrigger(scene: Scene, { request, fault, unlinks_account }: EventTrigger): Promise<TriggeredEvent> {
  const prepared = await requests[request](scene);
  try {
    if (unlinks_account && prepared.start) return await unlinkMeanwhile(scene, prepared.start);
    return await (fault ? withFault(scene, fault, () => readEvent(prepared)) : readEvent(prepared));
  } finally {
    await prepared.undo?.();
  }
}

async function readEvent({ send }: Prepared): Promise<TriggeredEvent> {
  try {
    const event = await send();
    if (event) return event;
  } catch (error) {
    if (error instanceof JobFailedError) return error.event as TriggeredEvent;
    throw error;
  }
  throw new StartFailure('The change was merged into one that is still waiting. Try again when that one finishes.');
}

/** The requests that the triggers of the event catalogue name. */
const requests: Record<TriggerRequest, (scene: Scene) => Promise<Prepared>> = {
  telephone_encounter: async (scene) => ({
    send: () => scene.client.telephoneEncounters.createAndWait(call(scene)),
  }),
  telephone_encounter_with_refill: async (scene) => {
    const refill_medication_name = await activeMedication(scene);
    return {
      send: () => scene.client.telephoneEncounters.createAndWait({ ...call(scene), refill_medication_name }),
    };
  },
  telephone_encounter_action: async (scene) => {
    const body = await action(scene);
    return { send: () => scene.client.telephoneEncounters.actions.createAndWait(body) };
  },
  patient: async ({ client }) => ({ send: () => client.patients.createAndWait(newPatient()) }),
  duplicate_patient: async (scene) => {
    const { first_name, last_name, dob, sex } = await examplePatient(scene);
    const duplicate = { first_name, last_name, dob: dob ?? '', sex: sex as 'male' | 'female' | 'unknown' };
    return { send: () => scene.client.patients.createAndWait(duplicate) };
  },
  patient_update: async (scene) => {
    const { id } = await examplePatient(scene);
    return { send: () => scene.client.patients.updateAndWait(id, { email: `${randomLetters()}@example.test` }) };
  },
  insurance: async (scene) => {
    const { mrn } = await patientInEmr(scene);
    const body = await insurance(scene);
    return { send: () => scene.client.patients.insurances.createAndWait(mrn, body) };
  },
  insurance_update: async (scene) => {
    const { patientId, mrn } = await patientInEmr(scene);
    const { insuranceId } = await scene.control<{ insuranceId: string }>('POST', '/control/patient-insurances', {
      ...{ patientId, companyName: 'Mock Mutual', subscriberNumber: `T${randomInt(1e6, 1e7)}` },
    });
    const member_id = `T${randomInt(1e6, 1e7)}`;
    return { send: () => scene.client.patients.insurances.updateAndWait(mrn, insuranceId, { member_id }) };
  },
  live_fetch: async ({ client, sandbox }) => {
    const search = { search_by: 'mrn', mrn: sandbox.example.patient_mrn } as const;
    return { send: () => client.patients.fetchAndWait(search), start: (other) => other.patients.fetch(search) };
  },
  appointment: async (scene) => {
    const body = await appointment(scene, freeTime());
    return { send: () => scene.client.appointments.createAndWait(body) };
  },
  blocked_appointment: async (scene) => {
    const time = freeTime();
    const [year, month, day] = time.date.split('-');
    const body = { ...(await appointment(scene, time)), prevent_double_booking: 'true' as const };
    const { blockId } = await scene.control<{ blockId: string }>('POST', '/control/blocks', {
      ...{ providerId: scene.sandbox.example.provider_id, minutes: 60, reason: 'Meeting' },
      startsAt: `${month}/${day}/${year} ${time.time.slice(0, 5)}`,
    });
    return {
      send: () => scene.client.appointments.createAndWait(body),
      undo: () => scene.control('DELETE', `/control/blocks/${blockId}`),
    };
  },
  document: async (scene) => ({ send: () => scene.client.documents.createAndWait(document(scene)) }),
  sync: async ({ client }) => ({ send: () => client.sync.createAndWait(), start: (other) => other.sync.create() }),
  read_after_expiry: async (scene) => ({ send: () => expireLink(scene) }),
};

/** Runs the work with a fault for one request. A fault that was not used is removed. */
async function withFault<T>(
  { control }: Scene,
  fault: { operation: string; kind: string; times?: number },
  work: () => Promise<T>,
): Promise<T> {
  const reason = 'Rejected by chartwire trigger.';
  const { fault_id } = await control<{ fault_id: number }>('POST', '/control/faults', { times: 1, reason, ...fault });
  try {
    return await work();
  } finally {
    const { faults } = await control<{ faults: { fault_id: number }[] }>('GET', '/control/faults');
    if (faults.some((each) => each.fault_id === fault_id)) await control('DELETE', `/control/faults/${fault_id}`);
  }
}

/**
 * A job that cannot finish because the EMR fails, and whose account is then unlinked. By itself it would fail after an
 * hour of attempts.
 */
async function unlinkMeanwhile(
  scene: Scene,
  start: (client: Chartwire) => Promise<{ job_id: number }>,
): Promise<TriggeredEvent> {
  // Another member of the staff: unlinking ends their sessions.
  const client = scene.client.forAccount(await linkAccount(scene, { user_id: `trigger-${randomUUID()}`, staff: 1 }));
  const fault = { operation: 'list_patients', kind: 'error_500', times: 1_000 };
  // The token is revoked then, so the event can be read from the client's stream only.
  return scene.observe(() =>
    withFault(scene, fault, async () => {
      const { job_id } = await start(client);
      await client.account.delete();
      return job_id;
    }),
  );
}

/** Lets the link expire, waits for the event, and links the account again, so that the sandbox stays usable. */
async function expireLink(scene: Scene): Promise<TriggeredEvent> {
  const { client, control, sandbox } = scene;
  const newest = async () =>
    (await client.webhookEvents.list({ event_type: 'login_required', page_size: 1 })).webhook_events[0];
  const before = await newest();
  await control('POST', '/control/sessions/expire', { mode: 'link' });
  await client.patients.fetch({ search_by: 'mrn', mrn: sandbox.example.patient_mrn }).catch((error: unknown) => {
    if (!(error instanceof LoginRequiredError)) throw error;
  });
  try {
    return await until(async () => {
      const event = await newest();
      return event?.id === before?.id ? undefined : event;
    });
  } finally {
    await linkAccount(scene, { user_id: sandbox.user_id, staff: 0, access_token: sandbox.access_token });
  }
}

/** Signs in a member of the staff, and returns the access token. */
async function linkAccount(
  { client, sandbox }: Scene,
  { user_id, staff, access_token }: { user_id: string; staff: number; access_token?: string },
): Promise<string> {
  const person = sandbox.larkspur.staff[staff];
  if (!person) throw new StartFailure(`Larkspur has no staff member ${staff}.`);
  const purpose = { user_id, org_id: sandbox.org_id, ...(access_token !== undefined && { access_token }) };
  const { token: link_token } = await client.link.token.create(purpose);
  const { public_token } = await client.sandbox.publicToken.create({
    link_token,
    credentials: { username: person.username, password: person.password },
    one_time_code: new TOTP({ secret: Secret.fromBase32(person.totp_secret) }).generate(),
  });
  return (await client.link.token.exchange({ public_token })).token;
}

const wait_ms = 60_000;
const poll_ms = 200;

async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  const deadline = Date.now() + wait_ms;
  while (Date.now() < deadline) {
    const result = await look();
    if (result !== undefined) return result;
    await pause(poll_ms);
  }
  throw new StartFailure(`The event did not happen within ${wait_ms / 1000} seconds. Is a worker running?`);
}

function call({ sandbox }: Scene) {
  const { patient_mrn, provider_id, location_id, assigned_to_id } = sandbox.example;
  const text = { reason: 'Triggered call', caller: 'Test caller', message: 'Sent by chartwire trigger' };
  return { patient_mrn, provider_id, location_id, assigned_to_id, ...text };
}

/** An action on a new telephone encounter, whose event is sent too. */
async function action(scene: Scene) {
  const { data } = await scene.client.telephoneEncounters.createAndWait(call(scene));
  return { emr_appointment_id: data.emr_encounter_id, text: 'Called back (chartwire trigger).' };
}

async function activeMedication({ client, sandbox }: Scene): Promise<string> {
  const { patient_mrn: mrn } = sandbox.example;
  const { data } = await client.patients.fetchAndWait({ search_by: 'mrn', mrn });
  const { medications = [] } = data as { medications?: { name: string }[] };
  const [medication] = medications;
  if (!medication) throw new StartFailure('The example patient has no medication. Run: chartwire sandbox reset');
  return medication.name;
}

function newPatient() {
  return {
    first_name: 'Trigger',
    last_name: `Testpatient-${randomLetters()}`,
    dob: '1980-02-29',
    sex: 'unknown' as const,
    phone: '315-555-0142',
  };
}

async function examplePatient({ client, sandbox }: Scene) {
  const { patients } = await client.patients.list({ mrn: sandbox.example.patient_mrn });
  const [patient] = patients;
  if (!patient) throw new StartFailure('The example patient is missing. Run: chartwire sandbox reset');
  return patient;
}

/** A patient that exists only in the EMR: insurances fill up, so each trigger needs another one. */
function patientInEmr({ control }: Scene): Promise<{ patientId: string; mrn: string }> {
  const person = { firstName: 'Trigger', lastName: `Testpatient-${randomLetters()}`, birthDate: '02/29/1980' };
  return control('POST', '/control/patients', person);
}

async function insurance({ client }: Scene) {
  for await (const { id, payer_id } of client.insuranceProviders.list()) {
    if (payer_id) return { member_id: `T${randomInt(1e6, 1e7)}`, insurance_provider_id: id };
  }
  throw new StartFailure('The EMR has no insurance company. Run: chartwire sandbox reset');
}

/** In two years, when nothing is seeded, so that the schedule people look at stays as it is. */
function freeTime(): { date: string; time: string } {
  const day = new Date(Date.UTC(new Date().getUTCFullYear() + 2, 6, randomInt(1, 29))).toISOString();
  return { date: day.slice(0, 10), time: `${randomInt(10, 12)}:${randomInt(10, 60)} am` };
}

async function appointment({ client, sandbox }: Scene, time: { date: string; time: string }) {
  const { visit_types } = await client.visitTypes.list();
  const { patient_mrn: mrn, location_id: location, provider_id: provider } = sandbox.example;
  return { mrn, location, provider, type: visit_types[0]?.code ?? '', ...time };
}

function document({ sandbox }: Scene) {
  const file = new Blob([Buffer.from(png, 'base64')], { type: 'image/png' });
  return { folder_name: 'Triggered', patient_mrn: sandbox.example.patient_mrn, document: file };
}

/** A picture of one pixel. */
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

function randomLetters(): string {
  return Array.from({ length: 10 }, () => String.fromCharCode(97 + randomInt(26))).join('');
}
