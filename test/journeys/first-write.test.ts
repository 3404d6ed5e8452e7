import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';

let world: TestSandbox;
beforeAll(async () => {
  world = await startSandbox();
});
afterAll(() => world.close());

describe('the first write of a newcomer', () => {
  test('is accepted at once, stands in the EMR, and is announced by one event', async () => {
    const { api, sandbox } = world;
    const accepted = await api.callIn({ reason: 'First call', caller: 'A newcomer', message: 'Hello' });
    expect(accepted.status).toBe(200);
    expect(accepted.body).toStrictEqual({
      success: true,
      message: expect.stringContaining('webhook event'),
      telephone_encounter_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      job_id: expect.any(Number),
    });
    const event = await api.untilEvent(accepted.body.job_id);
    expect(event.event_type).toBe('telephone_encounter.created');
    expect(event.data).toStrictEqual({
      telephone_encounter_id: accepted.body.telephone_encounter_id,
      emr_encounter_id: expect.any(String),
      patient_mrn: sandbox.example.patient_mrn,
      provider_id: sandbox.example.provider_id,
      location_id: sandbox.example.location_id,
      assigned_to_id: sandbox.example.assigned_to_id,
      reason: 'First call',
    });
    const applied = (await api.ledger()).filter((entry) => entry.applied);
    expect(applied.map((entry) => entry.operation)).toStrictEqual(['create_telephone_encounter']);
    expect((await api.job(accepted.body.job_id)).status).toBe('succeeded');
  });
});
