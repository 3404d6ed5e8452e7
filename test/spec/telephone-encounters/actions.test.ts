import { beforeAll, expect, test } from 'vitest';
import { apiAs } from '../../api/support.ts';
import type { Api } from '../../harness/api.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { type Chart, setFault, signInToLarkspur } from '../../journeys/support.ts';
import { expectRejected, not_strings } from '../support/expectErrors.ts';

let fixture: TestSandbox;
let chart: Chart;
beforeAll(async () => {
  fixture = await sharedSandbox();
  chart = await signInToLarkspur(fixture.sandbox, fixture.api);
});

/** Creates a telephone encounter to add actions to. */
async function newEncounter(): Promise<string> {
  const { body } = await fixture.api.callIn({ reason: 'Call' });
  return (await fixture.api.untilEvent(body.job_id)).data.emr_encounter_id;
}

const act = (body: Record<string, unknown>, api: Api = fixture.api) =>
  api.call('POST', '/v1/telephone-encounters/actions', { body });

async function added(body: Record<string, unknown>, api: Api = fixture.api) {
  const response = await act(body, api);
  expect(response.status, JSON.stringify(response.body)).toBe(200);
  return { accepted: response.body, event: await api.untilEvent(response.body.job_id) };
}

const readTexts = async (encounter_id: string): Promise<string[]> =>
  (await chart.encounter(encounter_id)).actions.map(({ text }: { text: string }) => text);

async function expectRequired(field: 'emr_appointment_id' | 'text'): Promise<void> {
  const complete_body = { emr_appointment_id: await newEncounter(), text: 'Called back.' };
  for (const absent of [undefined, null, '']) {
    const refused = { message: `Missing required field: ${field}`, field };
    await expectRejected(fixture, () => act({ ...complete_body, [field]: absent }), refused);
  }
  for (const value of not_strings) {
    const refused = { message: new RegExp(`^${field} `), field };
    await expectRejected(fixture, () => act({ ...complete_body, [field]: value }), refused);
  }
  expect(await readTexts(complete_body.emr_appointment_id)).toStrictEqual([]);
}

test(row('ACT-01'), async () => {
  await expectRequired('emr_appointment_id');
  const [named, other] = [await newEncounter(), await newEncounter()];
  await added({ emr_appointment_id: named, text: 'Called back.' });
  expect(await readTexts(named)).toHaveLength(1);
  expect(await readTexts(other)).toStrictEqual([]);
});

test(row('ACT-02'), async () => {
  await expectRequired('text');
  const emr_appointment_id = await newEncounter();
  await added({ emr_appointment_id, text: 'Left a message — “twice” 💊' });
  expect(await readTexts(emr_appointment_id)).toStrictEqual([expect.stringContaining('Left a message — “twice” 💊')]);
});

test(row('ACT-03'), async () => {
  const emr_appointment_id = await newEncounter();
  for (const is_high_priority of [1, 0, 'TRUE', 'yes']) {
    const refused = { message: 'is_high_priority must be one of: true, false', field: 'is_high_priority' };
    await expectRejected(fixture, () => act({ emr_appointment_id, text: 'x', is_high_priority }), refused);
  }
  for (const is_high_priority of ['true', 'false', true, false, '', null, undefined]) {
    const { event } = await added({ emr_appointment_id, text: `priority ${is_high_priority}`, is_high_priority });
    expect(event.event_type).toBe('telephone_encounter_action.created');
  }
  expect(await readTexts(emr_appointment_id)).toHaveLength(7);
});

test(row('ACT-04'), async () => {
  const emr_appointment_id = await newEncounter();
  await added({ emr_appointment_id, text: 'Called back.' });
  const [{ at, by, text }] = (await chart.encounter(emr_appointment_id)).actions;
  // Larkspur's own author and time; ours may be from the minute before.
  const written = [at, new Date(Date.parse(at) - 60_000)].map((moment) => `${by} ${inNewYork(moment)}: Called back.`);
  expect(written).toContain(text);
});

/** `11/15/2026 09:12 AM EST` */
function inNewYork(moment: string | Date): string {
  const zone = { timeZone: 'America/New_York' };
  const day = { year: 'numeric', month: '2-digit', day: '2-digit' } as const;
  const date = new Date(moment).toLocaleDateString('en-US', { ...zone, ...day });
  const hour = { hour: '2-digit', minute: '2-digit', timeZoneName: 'short' } as const;
  return `${date} ${new Date(moment).toLocaleTimeString('en-US', { ...zone, ...hour })}`.replace(/\u202f/g, ' ');
}

test(row('ACT-05'), async () => {
  const emr_appointment_id = await newEncounter();
  expect(await chart.addAction(emr_appointment_id, 'Written at the clinic')).toBe(201);
  await added({ emr_appointment_id, text: 'First' });
  const earlier = await readTexts(emr_appointment_id);
  await added({ emr_appointment_id, text: 'Second' });
  expect(await readTexts(emr_appointment_id)).toStrictEqual([...earlier, expect.stringMatching(/: Second$/)]);
  expect(earlier).toStrictEqual(['Written at the clinic', expect.stringMatching(/: First$/)]);
});

test(row('ACT-06'), async () => {
  const { accepted } = await added({ emr_appointment_id: await newEncounter(), text: 'Called back.' });
  expect(accepted).toStrictEqual({
    success: true,
    message: expect.stringContaining('webhook event'),
    action_id: expect.stringMatching(/^[0-9a-f]{32}$/),
    job_id: expect.any(Number),
  });
  expect(Number.isSafeInteger(accepted.job_id)).toBe(true);
});

test(row('ACT-07'), async () => {
  const emr_appointment_id = await newEncounter();
  const { accepted, event } = await added({ emr_appointment_id, text: 'Called back.' });
  expect([event.event_type, event.job_id]).toStrictEqual([
    'telephone_encounter_action.created',
    String(accepted.job_id),
  ]);
  expect(await readTexts(emr_appointment_id)).toHaveLength(1);
});

test(row('EVT-18'), async () => {
  const emr_appointment_id = await newEncounter();
  const { accepted, event } = await added({ emr_appointment_id, text: 'Called back.' });
  expect(event.event_type).toBe('telephone_encounter_action.created');
  expect(event.data).toStrictEqual({ action_id: accepted.action_id, emr_appointment_id, text: 'Called back.' });
});

test(row('DEC-299'), async () => {
  const emr_appointment_id = await newEncounter();
  const colleague = apiAs(fixture, {
    access_token: await fixture.api.link({ user_id: 'signing-colleague', staff: 1 }),
  });
  await added({ emr_appointment_id, text: 'Mine' });
  await added({ emr_appointment_id, text: 'Theirs' }, colleague);
  const { actions } = await chart.encounter(emr_appointment_id);
  // `by` is Larkspur's name of the signed-in user.
  const names: string[] = actions.map(({ by }: { by: string }) => by);
  expect(new Set(names).size).toBe(2);
  expect(await readTexts(emr_appointment_id)).toStrictEqual([
    expect.stringMatching(new RegExp(`^${names[0]} .*: Mine$`)),
    expect.stringMatching(new RegExp(`^${names[1]} .*: Theirs$`)),
  ]);
});

test(row('DEC-306'), async () => {
  const unknown = await added({ emr_appointment_id: '999999', text: 'Into the void' });
  await setFault(fixture.api, 'add_telephone_action', 'refuse', { reason: 'This call is closed.' });
  const emr_appointment_id = await newEncounter();
  const closed = await added({ emr_appointment_id, text: 'Too late' });
  expect(closed.event.data.failure_reason).toBe('This call is closed.');
  for (const [{ accepted, event }, code] of [
    [unknown, 'record_not_found'],
    [closed, 'emr_refused'],
  ] as const) {
    expect(event.event_type).toBe('telephone_encounter_action.failed');
    expect(event.data).toStrictEqual({
      action_id: accepted.action_id,
      emr_appointment_id: accepted === closed.accepted ? emr_appointment_id : '999999',
      failure_reason: expect.stringMatching(/\S/),
      reasons: [{ code, description: event.data.failure_reason }],
    });
  }
});

test('rejects an unknown field', async () => {
  const body = { emr_appointment_id: '1', text: 'x', more: 1 };
  const rejection = { message: 'Unexpected fields in request body: more', field: 'more' };
  await expectRejected(fixture, () => act(body), rejection);
});

test('adds an action once if its response is lost', async () => {
  await setFault(fixture.api, 'add_telephone_action', 'lose_answer');
  const { accepted, event } = await added({ emr_appointment_id: await newEncounter(), text: 'Called once.' });
  expect(event.event_type).toBe('telephone_encounter_action.created');
  const entries = await fixture.api.ledger();
  expect(entries.filter(({ marker, applied }) => applied && marker.startsWith(accepted.action_id))).toHaveLength(1);
});
