import { describe, expect, it } from 'vitest';
import { nextAttemptDelay, retry_delays_ms, retryAfterS } from '../../src/product/webhooks/deliveries.ts';
import { figure } from '../harness/figure.ts';

const samples = figure('LADDER_SAMPLES', 200);
const s = 1_000;
const min = 60 * s;
const h = 60 * min;

describe('the retry schedule', () => {
  it.each([
    [0, 0],
    [1, 5 * s],
    [2, 5 * min],
    [3, 30 * min],
    [4, 2 * h],
    [5, 5 * h],
    [6, 10 * h],
    [7, 14 * h],
    [8, 20 * h],
    [9, 24 * h],
  ])('the pause after %i attempts is within 20 %% of %i ms', (attempts, plain) => {
    expect(nextAttemptDelay(attempts, undefined, () => 0)).toBe(plain * 0.8);
    expect(nextAttemptDelay(attempts, undefined, () => 0.5)).toBe(plain);
    expect(nextAttemptDelay(attempts, undefined, () => 1 - 1e-12)).toBe(plain * 1.2);
    for (let n = 0; n < samples; n += 1) {
      const pause = nextAttemptDelay(attempts, undefined) ?? Number.NaN;
      if (Math.abs(pause - plain) > plain * 0.2) expect.fail(`${pause} ms`);
    }
  });

  it('ends after ten attempts, regardless of Retry-After', () => {
    expect(retry_delays_ms).toHaveLength(10);
    expect(nextAttemptDelay(10, undefined)).toBeUndefined();
    expect(nextAttemptDelay(10, 60)).toBeUndefined();
  });

  it('waits for Retry-After, up to 24 hours, and at least for the scheduled pause', () => {
    expect(nextAttemptDelay(1, 120, () => 0)).toBe(120 * s);
    expect(nextAttemptDelay(1, 1, () => 0.5)).toBe(5 * s);
    expect(nextAttemptDelay(2, 200, () => 0)).toBe(240 * s);
    expect(nextAttemptDelay(1, 1e9, () => 0)).toBe(24 * h);
    expect(nextAttemptDelay(1, Number.POSITIVE_INFINITY, () => 0)).toBe(24 * h);
  });
});

describe('Retry-After', () => {
  const now = Date.UTC(2026, 4, 1, 12, 0, 0);
  it.each([
    ['120', 120],
    [' 0 ', 0],
    ['Fri, 01 May 2026 12:01:30 GMT', 90],
    ['Friday, 01-May-26 12:01:30 GMT', 90],
    ['Fri, 01 May 2026 11:00:00 GMT', 0],
    ['-5', undefined],
    ['2.5', undefined],
    ['soon', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('%j is %j seconds', (header, seconds) => {
    expect(retryAfterS(header, now)).toBe(seconds);
  });
});
