import { beforeAll, describe, expect, test } from 'vitest';
import { job_states, job_transitions } from '../../src/jobs/states.ts';
import { patient_statuses, patient_transitions } from '../../src/model/records/patients.ts';
import type { TestSandbox } from '../harness/sandbox.ts';
import { sharedSandbox } from '../harness/sharedSandbox.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
});

/** Attempts every possible transition and returns those that the database allows. Everything is rolled back. */
async function allowedTransitions(
  table: 'patients' | 'jobs',
  column: string,
  states: readonly string[],
): Promise<string[][]> {
  const sql = fixture.owner;
  const transitions: string[][] = [];
  for (const from of states) {
    for (const to of states.filter((state) => state !== from)) {
      const allowed = await sql
        .begin(async (tx) => {
          await tx`ALTER TABLE ${tx(table)} DISABLE TRIGGER USER`;
          await tx`UPDATE ${tx(table)} SET ${tx(column)} = ${from}`;
          await tx`ALTER TABLE ${tx(table)} ENABLE TRIGGER USER`;
          await tx`UPDATE ${tx(table)} SET ${tx(column)} = ${to}`;
          throw new Error('rolled back');
        })
        .catch((error: Error) => error.message === 'rolled back');
      if (allowed) transitions.push([from, to]);
    }
  }
  return transitions;
}

describe('the database allows exactly the declared transitions', () => {
  test('of a patient', async () => {
    const [{ n } = { n: 0 }] = await fixture.owner<{ n: number }[]>`SELECT count(*) AS n FROM patients`;
    expect(n).toBeGreaterThan(0);
    expect(new Set((await allowedTransitions('patients', 'status', patient_statuses)).map(String))).toStrictEqual(
      new Set(patient_transitions.map(String)),
    );
  });

  test('of a job', async () => {
    const [{ n } = { n: 0 }] = await fixture.owner<{ n: number }[]>`SELECT count(*) AS n FROM jobs`;
    expect(n).toBeGreaterThan(0);
    expect(new Set((await allowedTransitions('jobs', 'state', job_states)).map(String))).toStrictEqual(
      new Set(job_transitions.map(String)),
    );
  });
});
