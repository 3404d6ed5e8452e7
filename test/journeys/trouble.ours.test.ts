import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { appliedMarkers, createMarker, endPauses, patient, until } from './journey.ts';

let world: TestSandbox;
beforeAll(async () => {
  world = await startSandbox();
  await world.owner`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'Jane Doe, LK100001, cannot be stored'; END $$`;
});
afterAll(() => world.close());
afterEach(async () => {
  await world.owner`DROP TRIGGER IF EXISTS refuse_events ON events`;
});

/** A write of which the EMR has all and our own last transaction failed. */
async function writtenButNotEnded(fields: Record<string, unknown>) {
  await world.owner`CREATE TRIGGER refuse_events BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION refuse()`;
  const { body } = await world.api.callIn(fields);
  const job = await until('the job to fail by our fault', async () => {
    const found = await world.api.job(body.job_id);
    return found.error && found;
  });
  await world.owner`DROP TRIGGER refuse_events ON events`;
  return { accepted: body, job };
}

describe('a fault of ours after the EMR has the write', () => {
  test('is tried again without writing twice, and says nothing of what was in it', async () => {
    const { accepted, job } = await writtenButNotEnded({ refill_medication_name: 'Lisinopril' });
    expect(job).toMatchObject({
      status: 'queued',
      error: { code: 'internal', message: 'Something went wrong on our side.' },
    });
    await endPauses(world.owner);
    const event = await world.api.untilEvent(accepted.job_id);
    expect(event.event_type).toBe('telephone_encounter.created');
    expect(event.data.refill_medication_name).toBe('Lisinopril 10 mg');
    const ended = await world.api.job(accepted.job_id);
    expect(ended).toMatchObject({ status: 'succeeded', attempts: 2, error: null });
    expect(JSON.stringify(ended)).not.toContain('Jane Doe');
    const markers = await appliedMarkers(world.api);
    expect(markers).toStrictEqual([createMarker(accepted.telephone_encounter_id)]);
  });

  test('ends as created also when the EMR no longer finds the patient: the encounter was asked for and is there', async () => {
    const { mrn, ehr_id } = patient(120);
    const { accepted } = await writtenButNotEnded({ patient_mrn: mrn });
    await world.api.control('DELETE', `/control/patients/${ehr_id}`);
    await endPauses(world.owner);
    const event = await world.api.untilEvent(accepted.job_id);
    expect(event.event_type).toBe('telephone_encounter.created');
    expect(event.data).toMatchObject({ patient_mrn: mrn, emr_encounter_id: expect.any(String) });
    expect((await world.api.job(accepted.job_id)).status).toBe('succeeded');
  });
});
