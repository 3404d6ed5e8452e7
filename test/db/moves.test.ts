import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { job_states, job_transitions } from '../../src/jobs/states.ts';
import { patient_moves, patient_statuses } from '../../src/model/records/patients.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';

let world: TestSandbox;
beforeAll(async () => {
  world = await startSandbox();
});
afterAll(() => world.close());

/** Tries every move there could be on one row, whose other rules are let be, and gives those that the database allows. */
async function allowed(table: 'patients' | 'jobs', column: string, states: readonly string[]): Promise<string[][]> {
  const sql = world.owner;
  const moves: string[][] = [];
  for (const from of states) {
    for (const to of states.filter((state) => state !== from)) {
      const moved = await sql
        .begin(async (tx) => {
          await tx`ALTER TABLE ${tx(table)} DISABLE TRIGGER USER`;
          await tx`UPDATE ${tx(table)} SET ${tx(column)} = ${from}`;
          await tx`ALTER TABLE ${tx(table)} ENABLE TRIGGER USER`;
          await tx`UPDATE ${tx(table)} SET ${tx(column)} = ${to}`;
          throw new Error('undo');
        })
        .catch((error: Error) => error.message === 'undo');
      if (moved) moves.push([from, to]);
    }
  }
  return moves;
}

describe('the database allows every move of the list and no other', () => {
  test('of a patient', async () => {
    const [{ n } = { n: 0 }] = await world.owner<{ n: number }[]>`SELECT count(*) AS n FROM patients`;
    expect(n).toBeGreaterThan(0);
    expect(new Set((await allowed('patients', 'status', patient_statuses)).map(String))).toStrictEqual(
      new Set(patient_moves.map(String)),
    );
  });

  test('of a job', async () => {
    const [{ n } = { n: 0 }] = await world.owner<{ n: number }[]>`SELECT count(*) AS n FROM jobs`;
    expect(n).toBeGreaterThan(0);
    expect(new Set((await allowed('jobs', 'state', job_states)).map(String))).toStrictEqual(
      new Set(job_transitions.map(String)),
    );
  });
});
