import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Sql } from '../../src/platform/db/database.ts';
import type { Sandbox } from '../../src/surfaces/sandbox/seedSandbox.ts';
import type { Api, ApiResponse } from '../harness/api.ts';
import { pollingPause } from '../harness/poll.ts';

/** Larkspur's seeded patients are numbered from 1; `example` is the first. */
export function patient(n: number): { mrn: string; ehr_id: string } {
  return { mrn: `LK${100_000 + n}`, ehr_id: String(10_000 + n) };
}

/** Polls until `look` returns a value; the error says what was waited for. */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined | null | false>,
  timeout_ms = 90_000,
): Promise<T> {
  const deadline = Date.now() + timeout_ms;
  for (let turn = 0; Date.now() < deadline; turn++) {
    const result = await look();
    if (result !== undefined && result !== null && result !== false) return result;
    await pause(pollingPause(turn));
  }
  throw new Error(`Timed out waiting for ${what}.`);
}

/** Sets a fault in Larkspur, by default for one request. */
export async function setFault(api: Api, operation: string, kind: string, more: object = {}): Promise<void> {
  const response = await api.control('POST', '/control/faults', { operation, kind, times: 1, ...more });
  if (response.status !== 201) throw new Error(`The fault was not set: ${JSON.stringify(response.body)}`);
}

/** Waits until every fault has been applied. */
export async function untilFaultsApplied(api: Api): Promise<void> {
  await until('all faults to be applied', async () => {
    const { body } = await api.control('GET', '/control/faults');
    return body.faults.length === 0;
  });
}

/** Waits until an attempt of the job has failed, which the timeline shows even if the next attempt has finished. */
export async function untilFailedAttempt(api: Api, job_id: number): Promise<void> {
  await until(`an attempt of job ${job_id} to fail`, async () =>
    (await api.job(job_id)).timeline.some(({ step }: { step: string }) => step === 'retry'),
  );
}

/** Waits until all these jobs have finished. */
export async function untilFinished(owner: Sql, job_ids: number[], timeout_ms = 120_000): Promise<void> {
  await until(
    `${job_ids.length} jobs to finish`,
    async () => {
      const [row] = await owner<{ finished: boolean }[]>`
        SELECT count(*) = ${job_ids.length} AS finished FROM jobs WHERE id = ANY (${job_ids}) AND finished_at IS NOT NULL`;
      return row?.finished;
    },
    timeout_ms,
  );
}

/** Makes every job and delivery that waits for its next attempt due now. */
export async function endPauses(owner: Sql): Promise<void> {
  await owner`UPDATE lanes SET ready_at = now() WHERE ready_at > now()`;
  await owner`UPDATE deliveries SET ready_at = now() WHERE ready_at > now()`;
  await owner`SELECT pg_notify('chartwire_jobs', ''), pg_notify('chartwire_deliveries', '')`;
}

/** Makes the lane of a job wait for an hour, once an attempt has failed and none is running. Use a fault that lasts. */
export async function pauseAfterFailure(owner: Sql, job_id: number): Promise<void> {
  await until(`job ${job_id} to be paused`, async () => {
    const [paused] = await owner`UPDATE lanes SET ready_at = now() + interval '1 hour' WHERE locked_until IS NULL
       AND key = (SELECT lane FROM jobs WHERE id = ${job_id} AND error IS NOT NULL) RETURNING id`;
    return paused;
  });
}

/** Makes failed deliveries wait for hours. Returns when no attempt is running, so none is made until they are sent again. */
export async function postponeDeliveries(owner: Sql): Promise<void> {
  await until('all deliveries to wait', async () => {
    await owner`UPDATE deliveries SET ready_at = now() + interval '5 hours'
      WHERE status = 'pending' AND attempts > 0 AND locked_until IS NULL`;
    const due = await owner`SELECT FROM deliveries
      WHERE status = 'pending' AND (locked_until IS NOT NULL OR ready_at < now() + interval '4 hours') LIMIT 1`;
    return due.length === 0;
  });
}

/** Prevents further scheduled syncs of an organization whose EMR server is about to close. */
export async function stopScheduledSyncs(owner: Sql, org_id: string): Promise<void> {
  await owner`UPDATE organizations SET next_sync_at = now() + interval '1 day' WHERE org_id = ${org_id}`;
}

/** Makes the job look as if it had been retried for an hour, so that its next failure is final. */
export async function endRetries(owner: Sql, job_id: number): Promise<void> {
  // An absolute time: a failed attempt is in the timeline before retry_since is set on the job.
  await owner`UPDATE jobs SET retry_since = now() - interval '61 minutes' WHERE id = ${job_id}`;
}

/** The markers of the writes that Larkspur applied, in order. */
export async function appliedMarkers(api: Api, operation = 'create_telephone_encounter'): Promise<string[]> {
  const entries = await api.ledger();
  return entries.filter((entry) => entry.applied && entry.operation === operation).map((entry) => entry.marker);
}

/** The marker of a telephone encounter's first step. */
export function createMarker(telephone_encounter_id: string): string {
  return `${telephone_encounter_id}-create_encounter`;
}

/** Row counts of the tables that a write is stored in. */
export async function countRows(owner: Sql): Promise<Record<string, number>> {
  const [row] = await owner<Record<string, number>[]>`
    SELECT (SELECT count(*) FROM operations) AS operations, (SELECT count(*) FROM jobs) AS jobs,
           (SELECT count(*) FROM lanes) AS lanes, (SELECT count(*) FROM idempotency_keys) AS idempotency_keys,
           (SELECT count(*) FROM events) AS events`;
  return row ?? {};
}

/** Larkspur as a staff member sees it, signed in through its own API. */
export type Chart = {
  /** The body of a GET response. */
  read(path: string): Promise<ApiResponse['body']>;
  encounter(encounter_id: string): Promise<ApiResponse['body']>;
  pharmacies(patient_ehr_id: string): Promise<string[]>;
  /** The previous addresses of a patient, newest first. */
  addressHistory(patient_ehr_id: string): Promise<ApiResponse['body'][]>;
  addAction(encounter_id: string, text: string): Promise<number>;
  /** A list of a patient's chart: `medications`, `encounters`, `documents`, … */
  list(patient_ehr_id: string, list: string): Promise<ApiResponse['body'][]>;
  /** The page of a patient's chart, as HTML. */
  screen(patient_ehr_id: string): Promise<string>;
  /** Another page of Larkspur, as HTML. */
  page(path: string): Promise<string>;
  /** Submits a form of a page and returns the status of the response. */
  submit(path: string, fields: Record<string, string>): Promise<number>;
  /** The bytes of a document of that chart. */
  download(patient_ehr_id: string, document_id: string): Promise<Buffer>;
};

export async function signInToLarkspur(sandbox: Sandbox, api: Api): Promise<Chart> {
  const staff = 4;
  const person = sandbox.larkspur.staff[staff];
  const call = async (method: string, path: string, body?: object, token = '') => {
    const response = await fetch(sandbox.larkspur.url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const json: ApiResponse['body'] = await response.json();
    return { status: response.status, body: json };
  };
  const login = await call('POST', '/api/login', { userName: person?.username, password: person?.password });
  const challenge = { challengeId: login.body.challengeId, code: api.code(staff), rememberDevice: 'N' };
  const token: string = (await call('POST', '/api/login/code', challenge)).body.sessionToken;
  const getPage = async (path: string) => {
    const headers = { cookie: `larkspur_session=${token}` };
    return Buffer.from(await (await fetch(sandbox.larkspur.url + path, { headers })).arrayBuffer());
  };
  return {
    read: async (path) => (await call('GET', path, undefined, token)).body,
    encounter: async (id) => (await call('GET', `/api/telephone-encounters/${id}`, undefined, token)).body,
    pharmacies: async (ehr_id) => {
      const { body } = await call('GET', `/api/patients/${ehr_id}/pharmacies`, undefined, token);
      return body.rows.map((row: { pharmacyId: string }) => row.pharmacyId);
    },
    addressHistory: async (ehr_id) => {
      const { body } = await call('GET', `/api/patients/${ehr_id}`, undefined, token);
      return body.addressHistory.map((row: { address: unknown }) => row.address);
    },
    addAction: async (id, text) => {
      const action = { text, externalRef: randomUUID() };
      return (await call('POST', `/api/telephone-encounters/${id}/actions`, action, token)).status;
    },
    list: async (ehr_id, list) =>
      (await call('GET', `/api/patients/${ehr_id}/${list}?pageSize=500`, undefined, token)).body.rows,
    page: async (path) => (await getPage(path)).toString('utf8'),
    submit: async (path, fields) => {
      const headers = { cookie: `larkspur_session=${token}` };
      const body = new URLSearchParams(fields);
      return (await fetch(sandbox.larkspur.url + path, { method: 'POST', headers, body, redirect: 'manual' })).status;
    },
    screen: async (ehr_id) => (await getPage(`/patients/${ehr_id}`)).toString('utf8'),
    download: (ehr_id, document_id) => getPage(`/patients/${ehr_id}/documents/${document_id}`),
  };
}
