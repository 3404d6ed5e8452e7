import { expect, test } from 'vitest';
import { createCircuits } from '../../src/platform/worker/backoff.ts';

function circuitsAt(start = 0) {
  const clock = { ms: start };
  const circuits = createCircuits({ failures_max: 2, pause_ms: 100, pause_max_ms: 300, now: () => clock.ms });
  return { circuits, clock };
}

test('a destination is set aside after several hung attempts in a row, then tried by one at a time', () => {
  const { circuits, clock } = circuitsAt();
  circuits.report('emr', 'hung');
  expect(circuits.admit('emr')).toBe(0);
  circuits.report('emr', 'hung');
  expect(circuits.admit('emr')).toBe(100);
  expect(circuits.admit('other')).toBe(0);
  clock.ms = 100;
  expect(circuits.admit('emr'), 'the probe').toBe(0);
  expect(circuits.admit('emr'), 'during the probe').toBe(100);
  circuits.report('emr', 'responded');
  expect(circuits.admit('emr')).toBe(0);
  expect(circuits.admit('emr')).toBe(0);
});

test('the pause doubles with each failed probe, up to its maximum', () => {
  const { circuits, clock } = circuitsAt();
  circuits.report('emr', 'hung');
  const waits = [1, 2, 3, 4].map(() => {
    circuits.report('emr', 'hung');
    const wait_ms = circuits.admit('emr');
    clock.ms += wait_ms;
    circuits.admit('emr');
    return wait_ms;
  });
  expect(waits).toStrictEqual([100, 200, 300, 300]);
});

test('a probe without a result makes room for the next one; quick errors set nothing aside', () => {
  const { circuits, clock } = circuitsAt();
  for (let n = 0; n < 5; n++) circuits.report('emr', 'unknown');
  expect(circuits.admit('emr')).toBe(0);
  circuits.report('emr', 'hung');
  circuits.report('emr', 'hung');
  clock.ms = 100;
  expect(circuits.admit('emr')).toBe(0);
  circuits.report('emr', 'unknown');
  expect(circuits.admit('emr')).toBe(0);
});
