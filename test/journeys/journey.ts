import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Sql } from '../../src/db/database.ts';
import type { Sandbox } from '../../src/sandbox/seedSandbox.ts';
import type { Answer, Api } from '../harness/api.ts';

/** For journeys that ask often: no limit but the machine's. */
/** Larkspur's seeded patients are numbered from 1; `example` is the first. */
export function patient(n: number): { mrn: string; ehr_id: string } {
  return { mrn: `LK${100_000 + n}`, ehr_id: String(10_000 + n) };
}

/** Looks again and again until there is something, and says what was missing when there never is. */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined | null | false>,
  patience_ms = 90_000,
): Promise<T> {
  const deadline = Date.now() + patience_ms;
  while (Date.now() < deadline) {
    const found = await look();
    if (found !== undefined && found !== null && found !== false) return found;
    await pause(20);
  }
  throw new Error(`In vain waited for ${what}.`);
}

/** Sets a fault in Larkspur that strikes once, unless `more` says otherwise. */
export async function setFault(api: Api, operation: string, kind: string, more: object = {}): Promise<void> {
  const answer = await api.control('POST', '/control/faults', { operation, kind, times: 1, ...more });
  if (answer.status !== 201) throw new Error(`No fault was set: ${JSON.stringify(answer.body)}`);
}

/** Waits until Larkspur has met every fault that was set. */
export async function untilFaultsMet(api: Api): Promise<void> {
  await until('the faults to strike', async () => {
    const { body } = await api.control('GET', '/control/faults');
    return body.faults.length === 0;
  });
}

/** Waits until a try of the job has failed. By then the next one may be over: that is told by the timeline alone. */
export async function untilFailedTry(api: Api, job_id: number): Promise<void> {
  await until(`a try of job ${job_id} to fail`, async () =>
    (await api.job(job_id)).timeline.some(({ step }: { step: string }) => step === 'retry'),
  );
}

/** Waits until every one of these jobs has ended. */
export async function untilEnded(owner: Sql, job_ids: number[], patience_ms = 120_000): Promise<void> {
  await until(
    `${job_ids.length} jobs to end`,
    async () => {
      const [row] = await owner<{ ended: boolean }[]>`
        SELECT count(*) = ${job_ids.length} AS ended FROM jobs WHERE id = ANY (${job_ids}) AND finished_at IS NOT NULL`;
      return row?.ended;
    },
    patience_ms,
  );
}

/** Lets every pause before a next try be over. */
export async function endPauses(owner: Sql): Promise<void> {
  await owner`UPDATE lanes SET ready_at = now() WHERE ready_at > now()`;
  await owner`UPDATE deliveries SET ready_at = now() WHERE ready_at > now()`;
  await owner`SELECT pg_notify('chartwire_jobs', ''), pg_notify('chartwire_deliveries', '')`;
}

/** As if a job had been tried again for an hour: its next bad end is the last. */
export async function endRetries(owner: Sql, job_id: number): Promise<void> {
  // Not by what stands there: a try that has just failed is told in the timeline before it is on the job.
  await owner`UPDATE jobs SET retry_since = now() - interval '61 minutes' WHERE id = ${job_id}`;
}

/** The markers of the writes that Larkspur applied, in that order. */
export async function appliedMarkers(api: Api, operation = 'create_telephone_encounter'): Promise<string[]> {
  const entries = await api.ledger();
  return entries.filter((entry) => entry.applied && entry.operation === operation).map((entry) => entry.marker);
}

/** The marker of a telephone encounter's first step is made of the id that the client was given. */
export function createMarker(telephone_encounter_id: string): string {
  return `${telephone_encounter_id}-create_encounter`;
}

/** How many rows each table has that a write is stored in. */
export async function countRows(owner: Sql): Promise<Record<string, number>> {
  const [row] = await owner<Record<string, number>[]>`
    SELECT (SELECT count(*) FROM operations) AS operations, (SELECT count(*) FROM jobs) AS jobs,
           (SELECT count(*) FROM lanes) AS lanes, (SELECT count(*) FROM idempotency_keys) AS idempotency_keys,
           (SELECT count(*) FROM events) AS events`;
  return row ?? {};
}

/** Larkspur as a member of its staff sees it, signed in by its own API. */
export type Chart = {
  /** What Larkspur itself answers to a question. */
  read(path: string): Promise<Answer['body']>;
  encounter(encounter_id: string): Promise<Answer['body']>;
  pharmacies(patient_ehr_id: string): Promise<string[]>;
  /** The addresses that a patient had before, newest first. */
  addressHistory(patient_ehr_id: string): Promise<Answer['body'][]>;
  addAction(encounter_id: string, text: string): Promise<number>;
  /** What a list of a patient's chart holds: `medications`, `encounters`, `documents`, … */
  list(patient_ehr_id: string, list: string): Promise<Answer['body'][]>;
  /** The page of a patient's chart, as HTML. */
  screen(patient_ehr_id: string): Promise<string>;
  /** The bytes of a document of that chart. */
  download(patient_ehr_id: string, document_id: string): Promise<Buffer>;
};

export async function openChart(sandbox: Sandbox, api: Api): Promise<Chart> {
  const staff = 4;
  const person = sandbox.larkspur.staff[staff];
  const ask = async (method: string, path: string, body?: object, token = '') => {
    const answer = await fetch(sandbox.larkspur.url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const json: Answer['body'] = await answer.json();
    return { status: answer.status, body: json };
  };
  const login = await ask('POST', '/api/login', { userName: person?.username, password: person?.password });
  const challenge = { challengeId: login.body.challengeId, code: api.code(staff), rememberDevice: 'N' };
  const token: string = (await ask('POST', '/api/login/code', challenge)).body.sessionToken;
  const visit = async (path: string) => {
    const headers = { cookie: `larkspur_session=${token}` };
    return Buffer.from(await (await fetch(sandbox.larkspur.url + path, { headers })).arrayBuffer());
  };
  return {
    read: async (path) => (await ask('GET', path, undefined, token)).body,
    encounter: async (id) => (await ask('GET', `/api/telephone-encounters/${id}`, undefined, token)).body,
    pharmacies: async (ehr_id) => {
      const { body } = await ask('GET', `/api/patients/${ehr_id}/pharmacies`, undefined, token);
      return body.rows.map((row: { pharmacyId: string }) => row.pharmacyId);
    },
    addressHistory: async (ehr_id) => {
      const { body } = await ask('GET', `/api/patients/${ehr_id}`, undefined, token);
      return body.addressHistory.map((row: { address: unknown }) => row.address);
    },
    addAction: async (id, text) => {
      const action = { text, externalRef: randomUUID() };
      return (await ask('POST', `/api/telephone-encounters/${id}/actions`, action, token)).status;
    },
    list: async (ehr_id, list) =>
      (await ask('GET', `/api/patients/${ehr_id}/${list}?pageSize=500`, undefined, token)).body.rows,
    screen: async (ehr_id) => (await visit(`/patients/${ehr_id}`)).toString('utf8'),
    download: (ehr_id, document_id) => visit(`/patients/${ehr_id}/documents/${document_id}`),
  };
}
