import type * as fhir from 'fhir/r4.js';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Api } from '../harness/api.ts';
import type { FaultSwitches } from '../harness/fhir/faults.ts';
import { linkFhir } from '../harness/fhir/linkFhir.ts';
import { type FhirServer, startFhirServer } from '../harness/fhir/startFhirServer.ts';
import type { TestProcess } from '../harness/sandbox.ts';
import { sendDocument } from '../spec/support/sendDocument.ts';
import { withGate } from './gate.ts';
import { type Installation, install } from './installation.ts';
import { endPauses, endRetries, pauseAfterFailure, stopScheduledSyncs, until, untilFinished } from './support.ts';

let fixture: Installation;
let worker: TestProcess;
beforeAll(async () => {
  fixture = await install();
  worker = await fixture.startWorker();
});
afterAll(() => fixture.close());

/** A write is looked up for an hour. What finishes within this time did not wait for that. */
const soon_ms = 60_000;

type Point = {
  name: string;
  /** Runs `send`, kills the worker at the point, and returns what `send` returned. */
  killAt(server: FhirServer, send: () => Promise<number[]>): Promise<number[]>;
};

const points: readonly Point[] = [
  {
    name: 'has stored the intent, and the request does not arrive',
    killAt: (server, send) => killDuringCreate(server, { performed: false }, send),
  },
  {
    name: 'waits for the response to a request that arrived',
    killAt: (server, send) => killDuringCreate(server, { performed: true }, send),
  },
  {
    name: 'stores the outcome',
    killAt: (_server, send) =>
      withGate(
        fixture.owner,
        { statement: 'INSERT ON job_steps', when: `NEW.kind = 'outcome'` },
        async ({ tx, untilWaiting }) => {
          const job_ids = await send();
          const waiting = await untilWaiting();
          await worker.stop('SIGKILL');
          for (const { pid } of waiting) await tx`SELECT pg_terminate_backend(${pid}::integer)`;
          return job_ids;
        },
      ),
  },
];

const servers: readonly [string, Partial<FaultSwitches>][] = [
  ['a server with conditional creates', {}],
  ['a server without conditional creates', { conditional_create: false }],
];

describe.each(servers)('on %s, the first appointment of a worker that is killed while it', (_name, switches) => {
  test.each(points.map((point) => [point.name, point] as const))(
    '%s is booked once, and the later writes of the patient do not wait',
    async (name, { killAt }) => {
      const { server, api } = await linkPractice(`${name} ${JSON.stringify(switches)}`, switches);
      const job_ids = await killAt(server, () => sendWrites(api));
      worker = await fixture.startWorker();
      await untilFinished(fixture.owner, job_ids, soon_ms);
      expect(await readStates(job_ids)).toStrictEqual(job_ids.map(() => ({ state: 'succeeded', events: 1 })));
      for (const hour of hours) expect(await appointmentsAt(server, hour)).toHaveLength(1);
    },
  );
});

test('an appointment of which the EMR cannot tell whether it arrived is not booked again, and later writes do not wait', async () => {
  const { server, api } = await linkPractice('undecided', { conditional_create: false, foreign_identifiers: false });
  const [lost = 0, ...later] = await killDuringCreate(server, { performed: true }, () => sendWrites(api));
  worker = await fixture.startWorker();
  // A further lookup may end the job before the later writes have finished, if the machine is busy.
  await pauseAfterFailure(fixture.owner, lost);
  await untilFinished(fixture.owner, later, soon_ms);
  expect(await readStates([lost, ...later])).toStrictEqual([
    { state: expect.stringMatching(/^(queued|running)$/), events: 0 },
    ...later.map(() => ({ state: 'succeeded', events: 1 })),
  ]);
  for (const hour of hours) expect(await appointmentsAt(server, hour)).toHaveLength(1);
  await endRetries(fixture.owner, lost);
  await endPauses(fixture.owner);
  await untilFinished(fixture.owner, [lost], soon_ms);
  expect(await readStates([lost])).toStrictEqual([{ state: 'needs_review', events: 1 }]);
  expect(await fixture.owner`SELECT FROM lanes WHERE key LIKE 'apart:%'`).toHaveLength(0);
});

test('the first document of an account whose worker is killed is stored once if another account has stored one', async () => {
  const { server, api } = await linkPractice('shared', { conditional_create: false });
  const colleague = await linkFhir(fixture, server, { user_id: 'colleague', org_id: 'shared' });
  await finished(await upload(api.access_token));
  server.fail({ kind: 'hang', method: 'POST', path: '/fhir/R4/DocumentReference', exact: true });
  const creates = () =>
    server.ledger.filter(({ method, path }) => method === 'POST' && path.endsWith('/DocumentReference'));
  const before = creates().length;
  const job_id = await upload(colleague.access_token);
  await until('the create to arrive', async () => creates().length > before);
  await worker.stop('SIGKILL');
  worker = await fixture.startWorker();
  await finished(job_id);
  expect(await server.resources<fhir.DocumentReference>('DocumentReference')).toHaveLength(2 + seeded_documents);
});

/** Those of the small practice. */
const seeded_documents = 6;

async function finished(job_id: number): Promise<void> {
  await untilFinished(fixture.owner, [job_id], soon_ms);
  expect(await readStates([job_id])).toStrictEqual([{ state: 'succeeded', events: 1 }]);
}

/** Returns the id of the job. */
async function upload(access_token: string): Promise<number> {
  const sandbox = { ...fixture.sandbox, access_token };
  const { status, body } = await sendDocument({ sandbox }, { patient_mrn: 'MB100001' });
  expect(status, JSON.stringify(body)).toBe(200);
  const [job] = await fixture.owner<{ id: number }[]>`
    SELECT id::int4 FROM jobs WHERE operation_id = ${body.document_id}`;
  return job?.id ?? 0;
}

const hours = ['10', '11'];

/** Two appointments and a change of the same patient. */
async function sendWrites(api: Api): Promise<number[]> {
  const { body } = await api.call('GET', '/v1/patients?page_size=1');
  const [{ id, mrn }] = body.patients;
  const job_ids: number[] = [];
  for (const hour of hours) {
    const response = await api.call('POST', '/v1/appointments', {
      body: { mrn, location: 'loc-1', provider: 'prac-1', type: 'FOLLOWUP', datetime: `2031-03-03T${hour}:00:00Z` },
    });
    expect(response.status, JSON.stringify(response.body)).toBe(200);
    job_ids.push(response.body.job_id);
  }
  const changed = await api.call('PATCH', `/v1/patients/${id}`, { body: { address_street: '7 Placeholder Lane' } });
  expect(changed.status, JSON.stringify(changed.body)).toBe(200);
  return [...job_ids, changed.body.job_id];
}

async function appointmentsAt(server: FhirServer, hour: string): Promise<fhir.Appointment[]> {
  const all = await server.resources<fhir.Appointment>('Appointment');
  return all.filter(({ start }) => Date.parse(start ?? '') === Date.parse(`2031-03-03T${hour}:00:00Z`));
}

/** A practice at a server of its own, on which nothing was created yet. */
async function linkPractice(
  org_id: string,
  switches: Partial<FaultSwitches>,
): Promise<{ server: FhirServer; api: Awaited<ReturnType<typeof linkFhir>> }> {
  const server = await startFhirServer({ data: 'small' });
  onTestFinished(server.close);
  const withheld = { Claim: 'all', ServiceRequest: 'all', Slot: 'all' } as const;
  Object.assign(server.faults, { withheld, ...switches });
  const api = await linkFhir(fixture, server, { user_id: 'killed', org_id });
  await api.sync();
  await stopScheduledSyncs(fixture.owner, org_id);
  return { server, api };
}

/** Kills the worker while the server does not respond to its first create of an appointment. */
async function killDuringCreate(
  server: FhirServer,
  { performed }: { performed: boolean },
  send: () => Promise<number[]>,
): Promise<number[]> {
  const create = { method: 'POST', path: '/fhir/R4/Appointment' };
  const isCreate = ({ method, path }: { method: string; path: string }) =>
    method === create.method && path === create.path;
  server.fail({ kind: 'hang', ...create, exact: true, performed });
  const job_ids = await send();
  await until('the create to arrive', async () => server.ledger.some(isCreate));
  if (performed)
    await until('the create to be performed', async () => server.ledger.some((one) => isCreate(one) && one.performed));
  await worker.stop('SIGKILL');
  return job_ids;
}

async function readStates(job_ids: number[]): Promise<{ state: string; events: number }[]> {
  const rows = await fixture.owner<{ state: string; events: number }[]>`
    SELECT jobs.state, count(events.id)::int AS events FROM jobs LEFT JOIN events ON events.job_id = jobs.id
     WHERE jobs.id = ANY (${job_ids}) GROUP BY jobs.id ORDER BY jobs.id`;
  return [...rows];
}
