import { beforeAll, describe, expect, test } from 'vitest';
import { patient_statuses, patient_transitions } from '../../src/model/records/patients.ts';
import { job_states, job_transitions } from '../../src/product/jobs/jobs.ts';
import type { TestSandbox } from '../harness/sandbox.ts';
import { sharedSandbox } from '../harness/sharedSandbox.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
});

/** Attempts every possible transition of a row and returns those the database allows. Everything is rolled back. */
async function allowedTransitions(
  table: 'patients' | 'jobs',
  id: string | number,
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
          await tx`UPDATE ${tx(table)} SET ${tx(column)} = ${from} WHERE id = ${id}`;
          await tx`ALTER TABLE ${tx(table)} ENABLE TRIGGER USER`;
          await tx`UPDATE ${tx(table)} SET ${tx(column)} = ${to} WHERE id = ${id}`;
          throw new Error('rolled back');
        })
        .catch((error: Error) => {
          if (!error.message.includes('does not move from')) expect(error.message).toBe('rolled back');
          return error.message === 'rolled back';
        });
      if (allowed) transitions.push([from, to]);
    }
  }
  return transitions;
}

describe('the database allows exactly the declared transitions', () => {
  test('the database allows exactly the declared transitions of a patient', async () => {
    const [patient] = await fixture.owner<{ id: string }[]>`SELECT id FROM patients LIMIT 1`;
    const allowed = await allowedTransitions('patients', patient?.id ?? '', 'status', Object.keys(patient_statuses));
    expect(new Set(allowed.map(String))).toStrictEqual(new Set(patient_transitions.map(String)));
  });

  test('the database allows exactly the declared transitions of a job', async () => {
    const [job] = await fixture.owner<{ id: number }[]>`SELECT id FROM jobs WHERE NOT parked LIMIT 1`;
    const allowed = await allowedTransitions('jobs', job?.id ?? 0, 'state', job_states);
    expect(new Set(allowed.map(String))).toStrictEqual(new Set(job_transitions.map(String)));
  });
});
