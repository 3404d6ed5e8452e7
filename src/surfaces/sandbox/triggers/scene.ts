import { randomInt } from 'node:crypto';
import type { Chartwire } from '../../../../sdk/src/client.ts';
import { StartFailure } from '../../../catalog/errors.ts';
import type { Sandbox } from '../seedSandbox.ts';

/** An event as `GET /v1/webhook-events` returns it, or as it was sent. */
export type TriggeredEvent = { id: string; type: string; job_id?: string | number; data: object };

/** Runs the work, which returns the ID of a job, and returns the event of the job as the client's stream shows it. */
export type Observe = (work: () => Promise<number>) => Promise<TriggeredEvent>;

/** What the triggers work with. */
export type Scene = {
  sandbox: Sandbox;
  observe: Observe;
  client: Chartwire;
  control: <T>(method: string, path: string, body?: unknown) => Promise<T>;
};

/** A request that is ready to be sent. */
export type Prepared = {
  /** Returns the event of its job. Throws JobFailedError, which has the event, if the job fails. */
  send: () => Promise<TriggeredEvent | undefined>;
  /** The same request for an account that is unlinked meanwhile. */
  meanwhile?: Started;
  /** Removes what was prepared in the EMR. */
  undo?: () => Promise<unknown>;
};

/** A request for another account, without waiting for its job. */
export type Started = {
  start: (client: Chartwire) => Promise<{ job_id: number }>;
  /** Its job waits for jobs of other accounts. */
  waits_for_others?: boolean;
};

/** The requests of a noun by their names. */
export type TriggerRequests = Readonly<Record<string, (scene: Scene) => Promise<Prepared>>>;

/** Runs the work with a fault for one request. A fault that was not used is removed. */
export async function withFault<T>(
  { control }: Scene,
  fault: { operation: string; kind: string; times?: number },
  work: () => Promise<T>,
): Promise<T> {
  const reason = 'Rejected by chartwire trigger.';
  const { fault_id } = await control<{ fault_id: number }>('POST', '/control/faults', { times: 1, reason, ...fault });
  try {
    return await work();
  } finally {
    const { faults } = await control<{ faults: { fault_id: number }[] }>('GET', '/control/faults');
    if (faults.some((each) => each.fault_id === fault_id)) await control('DELETE', `/control/faults/${fault_id}`);
  }
}

export async function examplePatient({ client, sandbox }: Scene) {
  const { patients } = await client.patients.list({ mrn: sandbox.example.patient_mrn });
  const [patient] = patients;
  if (!patient) throw new StartFailure('The example patient is missing. Run: chartwire sandbox reset');
  return patient;
}

/** A patient that exists only in the EMR: insurances fill up, so each trigger needs another one. */
export function patientInEmr({ control }: Scene): Promise<{ patientId: string; mrn: string }> {
  const person = { firstName: 'Trigger', lastName: `Testpatient-${randomLetters()}`, birthDate: '02/29/1980' };
  return control('POST', '/control/patients', person);
}

export function randomLetters(): string {
  return Array.from({ length: 10 }, () => String.fromCharCode(97 + randomInt(26))).join('');
}
