import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { samplePdf } from '../../../src/emr/operations/documents.ts';
import type { Api } from '../../harness/api.ts';
import { linkOpenEmr, newPatient, visit_types } from '../../harness/openemr/linkOpenEmr.ts';
import { type OpenEmrServer, startOpenEmr } from '../../harness/openemr/startOpenEmr.ts';
import type { TestProcess } from '../../harness/sandbox.ts';
import { sendDocument } from '../../spec/support/sendDocument.ts';
import { withGate } from '../gate.ts';
import { type Installation, install } from '../installation.ts';
import { endPauses, stopScheduledSyncs, until, untilFinished } from '../support.ts';

let fixture: Installation;
let worker: TestProcess;
let server: OpenEmrServer;
let api: Api & { access_token: string };
beforeAll(async () => {
  [fixture, server] = await Promise.all([install(), startOpenEmr()]);
  worker = await fixture.startWorker();
  api = await linkOpenEmr(fixture, server, { user_id: 'killed', org_id: 'killed' });
  await fixture.owner`UPDATE organizations SET visit_types = ${JSON.stringify(visit_types)}::text::jsonb
    WHERE org_id = 'killed'`;
  await api.sync();
  await stopScheduledSyncs(fixture.owner, 'killed');
  // The call that actions are added to.
  await untilFinished(fixture.owner, [await sendCall('Before')], soon_ms);
});
afterAll(async () => {
  await fixture.close();
  await server.close();
});

/** A killed worker leaves its turn to write for 15 s. */
const soon_ms = 60_000;
let sent = 0;

type Write = {
  name: string;
  /** Accepts the write, which contains `tag` once stored. Returns the id of its job. */
  send(tag: string): Promise<number>;
  /** Its requests that change something, in order. */
  requests: readonly RegExp[];
  /** Default: POST. */
  method?: 'PUT';
  /** The stored records with the tag. */
  stored(tag: string): readonly unknown[];
  /** Sent again if its response was lost, because OpenEMR does not show it: at least once, and at most twice. */
  messages?(tag: string): readonly unknown[];
};

const writes: readonly Write[] = [
  {
    name: 'patient',
    send: (tag) => accepted('/v1/patients', newPatient(tag, 'Killdeer')),
    requests: [/\/patient$/],
    stored: (tag) => server.practice.patients.filter(({ fname }) => fname === tag),
  },
  {
    name: 'appointment',
    send: (tag) =>
      accepted('/v1/appointments', {
        mrn: 'OE-1002',
        ...people(),
        type: '5',
        reason: tag,
        datetime: `2031-03-${String(3 + sent).padStart(2, '0')}T09:00:00-05:00`,
        prevent_double_booking: true,
      }),
    requests: [/\/appointment$/],
    stored: (tag) => server.practice.appointments.filter(({ pc_title }) => pc_title === tag),
  },
  {
    name: 'telephone encounter',
    send: sendCall,
    requests: [/\/encounter$/, /\/message$/, /\/soap_note$/],
    // The encounter, and its note, which is written last.
    stored: (tag) => {
      const encounters = server.practice.encounters.filter(({ reason }) => reason === tag);
      const notes = server.practice.notes.filter(({ subjective }) => subjective === `About ${tag}`);
      return encounters.flatMap((encounter) => notes.map((note) => ({ encounter, note })));
    },
    messages: (tag) => server.practice.messages.filter(({ body }) => String(body).includes(`About ${tag}`)),
  },
  {
    name: 'telephone action',
    send: async (tag) => {
      const [encounter] = server.practice.encounters.filter(({ class_code }) => class_code === 'VR');
      return accepted('/v1/telephone-encounters/actions', { emr_appointment_id: String(encounter?.euuid), text: tag });
    },
    requests: [/\/soap_note$/],
    stored: (tag) => server.practice.notes.filter(({ subjective }) => String(subjective).endsWith(tag)),
  },
  {
    name: 'changed patient',
    method: 'PUT',
    send: async (tag) => {
      const { body } = await api.call('GET', '/v1/patients?mrn=OE-1001');
      return accepted(`/v1/patients/${body.patients[0]?.id}`, { address_street: `${tag} Lane` }, 'PATCH');
    },
    requests: [/\/patient\/[0-9a-f-]{36}$/],
    stored: (tag) => server.practice.patients.filter(({ street }) => street === `${tag} Lane`),
  },
  {
    name: 'document',
    send: async (tag) => {
      const sandbox = { ...fixture.sandbox, access_token: api.access_token };
      const { status, body } = await sendDocument(
        { sandbox },
        { patient_mrn: 'OE-1002', folder_name: 'Lab Report' },
        samplePdf(tag),
      );
      expect(status, JSON.stringify(body)).toBe(200);
      const [job] = await fixture.owner<{ id: number }[]>`
        SELECT id::int4 FROM jobs WHERE operation_id = ${body.document_id}`;
      return job?.id ?? 0;
    },
    requests: [/\/document\?/],
    stored: (tag) => server.practice.documents.filter(({ content }) => String(content).includes(tag)),
  },
];

const kills = writes.flatMap((write) =>
  write.requests.flatMap((request) =>
    (['hang', 'hang_after'] as const).map((kind) => ({
      title: `${write.name}: ${kind === 'hang' ? 'before' : 'after'} ${request.source} was performed`,
      write,
      request,
      kind,
    })),
  ),
);

describe('a write of a worker that is killed is stored once', () => {
  test.each(kills.map((kill) => [kill.title, kill] as const))('%s', async (_title, { write, request, kind }) => {
    const tag = nextTag();
    const arrived = server.ledger.length;
    const sends = write.method ?? 'POST';
    server.fail({ method: sends, path: request, kind });
    const job_id = await write.send(tag);
    const matches = () =>
      server.ledger.slice(arrived).filter(({ method, path }) => method === sends && request.test(path));
    await until('the request to arrive', async () => matches().some(({ performed }) => kind === 'hang' || performed));
    await worker.stop('SIGKILL');
    // The first one waits until the turn of the killed worker ends by itself.
    if (sent > 1) await fixture.owner`UPDATE write_turns SET locked_until = now()`;
    worker = await fixture.startWorker();
    await expectStoredOnce(write, tag, job_id);
    // Somebody may have changed the same field meanwhile, which must not be undone.
    if (write.method) expect(matches().filter(({ performed }) => performed)).toHaveLength(1);
  });

  test.each(writes.map((write) => [write.name, write] as const))(
    '%s: while the outcome is stored',
    async (_name, write) => {
      const tag = nextTag();
      const gate = { statement: 'INSERT ON job_steps', when: `NEW.kind = 'outcome'` };
      const job_id = await withGate(fixture.owner, gate, async ({ tx, untilWaiting }) => {
        const id = await write.send(tag);
        const waiting = await untilWaiting();
        await worker.stop('SIGKILL');
        for (const { pid } of waiting) await tx`SELECT pg_terminate_backend(${pid}::integer)`;
        return id;
      });
      worker = await fixture.startWorker();
      await expectStoredOnce(write, tag, job_id);
    },
  );
});

test.each([
  [/\/message$/, 2],
  [/\/soap_note$/, 1],
])('after a lost response of %s, the staff member has %i messages about the call', async (request, count) => {
  const [call] = writes.filter(({ messages }) => messages);
  if (!call?.messages) throw new Error('No write sends messages.');
  const tag = nextTag();
  server.fail({ method: 'POST', path: request, kind: 'lost' });
  await expectStoredOnce(call, tag, await call.send(tag));
  expect(call.messages(tag)).toHaveLength(count);
});

describe('a write whose response is lost is stored once', () => {
  const cases = writes.flatMap((write) =>
    write.requests.map((request) => ({ title: `${write.name}: ${request.source}`, write, request })),
  );
  test.each(cases.map((each) => [each.title, each] as const))('%s', async (_title, { write, request }) => {
    const tag = nextTag();
    server.fail({ method: write.method ?? 'POST', path: request, kind: 'lost' });
    await expectStoredOnce(write, tag, await write.send(tag));
  });
});

async function expectStoredOnce({ stored, messages }: Write, tag: string, job_id: number): Promise<void> {
  await until('the job to finish', async () => {
    await endPauses(fixture.owner);
    const [row] = await fixture.owner`SELECT FROM jobs WHERE id = ${job_id} AND finished_at IS NOT NULL`;
    return row;
  });
  await untilFinished(fixture.owner, [job_id], soon_ms);
  const [job] = await fixture.owner`SELECT state, error FROM jobs WHERE id = ${job_id}`;
  expect(job).toStrictEqual({ state: 'succeeded', error: null });
  expect(stored(tag)).toHaveLength(1);
  if (messages) expect([1, 2]).toContain(messages(tag).length);
  expect(server.writing.most).toBeLessThanOrEqual(1);
}

function sendCall(tag: string): Promise<number> {
  const { location: location_id, provider: provider_id } = people();
  const assigned_to_id = String(server.practice.users[0]?.uuid);
  const body = {
    patient_mrn: 'OE-1002',
    provider_id,
    location_id,
    assigned_to_id,
    reason: tag,
    message: `About ${tag}`,
  };
  return accepted('/v1/telephone-encounters', body);
}

async function accepted(path: string, body: object, method: 'POST' | 'PATCH' = 'POST'): Promise<number> {
  const response = await api.call(method, path, { body });
  expect(response.status, JSON.stringify(response.body)).toBe(200);
  return response.body.job_id;
}

function people() {
  const { facilities, users } = server.practice;
  return { location: String(facilities[0]?.uuid), provider: String(users[1]?.uuid) };
}

/** Letters only: it is a first name, too. */
function nextTag(): string {
  sent += 1;
  return `Kill${String.fromCharCode(97 + Math.floor(sent / 26))}${String.fromCharCode(97 + (sent % 26))}`;
}
