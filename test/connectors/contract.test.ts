import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { certify } from '../../src/connectors/contract.ts';
import { larkspur } from '../../src/connectors/larkspur/larkspur.ts';
import { createOutbound } from '../../src/security/outbound.ts';
import { openPlace, type Place } from './place.ts';

describe('Larkspur', () => {
  let place: Place;
  beforeAll(async () => {
    place = await openPlace();
  });
  afterAll(() => place.close());

  test('keeps every promise of the contract', async () => {
    const verdicts = await certify({
      connector: larkspur,
      address: place.emr.url,
      credentials: place.credentials,
      one_time_code: place.code,
      outbound: createOutbound({ sandbox: true, allow: [] }),
      writes: true,
      patient_mrn: place.emr.example.patient_mrn,
      endSession: async () => void (await place.control('POST', '/sessions/expire', { mode: 'session' })),
      endLink: async () => void (await place.control('POST', '/sessions/expire', { mode: 'link' })),
    });
    for (const v of verdicts) if (v.outcome !== 'kept' || v.took_ms > 500) console.log(v.outcome, v.check.id, v.reason, v.took_ms);
    expect(verdicts.filter(({ outcome }) => outcome === 'broken')).toEqual([]);
  }, 300_000);
});
