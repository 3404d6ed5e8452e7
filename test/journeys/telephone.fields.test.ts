import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { type Chart, openChart } from './journey.ts';

let world: TestSandbox;
let chart: Chart;
beforeAll(async () => {
  world = await startSandbox();
  chart = await openChart(world.sandbox, world.api);
});
afterAll(() => world.close());

async function recorded(fields: Record<string, unknown>) {
  const accepted = await world.api.callIn(fields);
  expect(accepted.status, JSON.stringify(accepted.body)).toBe(200);
  const event = await world.api.untilEvent(accepted.body.job_id);
  return { accepted: accepted.body, event, encounter: await chart.encounter(event.data.emr_encounter_id) };
}

describe('a telephone encounter', () => {
  test('arrives in the EMR with every field that was sent', async () => {
    const { example } = world.sandbox;
    const { encounter } = await recorded({
      reason: 'Cough since Monday',
      pharmacy_ehr_id: '9003',
      caller: 'Zoë Ångström',
      message: 'Line one\nLine two — “quoted” 💊',
      is_high_priority: 'true',
      template_name: 'Telephone call',
    });
    expect(encounter).toMatchObject({
      mrn: example.patient_mrn,
      providerId: example.provider_id,
      facilityId: example.location_id,
      assignedTo: example.assigned_to_id,
      reason: 'Cough since Monday',
      caller: 'Zoë Ångström',
      message: 'Line one\nLine two — “quoted” 💊',
      priority: 'H',
      pharmacyId: '9003',
      templateName: 'Telephone call',
      refills: [],
      actions: [],
    });
  });

  test('needs the four required fields only; its event says that there was no reason', async () => {
    const { example, access_token_reference_id } = world.sandbox;
    const { accepted, event, encounter } = await recorded({});
    expect(encounter).toMatchObject({
      reason: null,
      caller: null,
      message: null,
      priority: 'N',
      pharmacyId: null,
      templateName: null,
    });
    expect(event).toStrictEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      event_id: event.id,
      object: 'event',
      created: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      created_at: event.created,
      type: 'telephone_encounter.created',
      event_type: 'telephone_encounter.created',
      job_id: String(accepted.job_id),
      access_token_reference_id,
      delivery_status: null,
      data: {
        telephone_encounter_id: accepted.telephone_encounter_id,
        emr_encounter_id: encounter.encounterId,
        patient_mrn: example.patient_mrn,
        provider_id: example.provider_id,
        location_id: example.location_id,
        assigned_to_id: example.assigned_to_id,
        reason: null,
      },
    });
  });

  test.each(['false', undefined])('is of normal priority when is_high_priority is %s', async (is_high_priority) => {
    const { encounter } = await recorded({ is_high_priority });
    expect(encounter.priority).toBe('N');
  });

  test('is written by the person who linked the account', async () => {
    const { encounter } = await recorded({});
    expect(encounter.createdBy).toBe('Avery Deskwell');
  });

  test('shows in GET /v1/jobs how it went, step by step', async () => {
    const { accepted, event } = await recorded({});
    const job = await world.api.job(accepted.job_id);
    expect(job).toMatchObject({
      job_id: accepted.job_id,
      type: 'telephone_encounter.create',
      status: 'succeeded',
      attempts: 1,
      error: null,
      event_id: event.id,
    });
    const steps = job.timeline.map((entry: { step: string; kind: string }) => `${entry.kind} ${entry.step}`);
    expect(steps).toStrictEqual([
      'note started',
      'intent create_encounter',
      'outcome create_encounter',
      'note succeeded',
    ]);
    const times = [job.created_at, job.started_at, ...job.timeline.map((entry: { at: string }) => entry.at)];
    expect(times).toStrictEqual([...times].sort());
  });
});
