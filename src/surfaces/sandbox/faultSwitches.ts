import { apiError } from '../../catalog/errors.ts';
import type { Sandbox } from './seedSandbox.ts';

/** A fault in the format of Larkspur's control API, without `times`. */
export type SwitchedFault = { operation: string; kind: string; reason?: string; field?: string; value?: string } & {
  delay_ms?: number;
};
export type Switch = {
  id: string;
  group: FaultGroup;
  label: string;
  description: string;
  fault: SwitchedFault;
};

/** What the EMR does: it is slow or unavailable, its response is lost or damaged, or it rejects or changes what is written. */
export const fault_groups = ['down', 'lost', 'refused'] as const;
export type FaultGroup = (typeof fault_groups)[number];

/** The faults an operator can turn on. The operation `*` means every write. */
export const fault_switches: readonly Switch[] = [
  {
    id: 'slow',
    group: 'down',
    label: 'Slow writes',
    description: 'Every write takes 5 seconds longer. Jobs wait for it.',
    fault: { operation: '*', kind: 'delay', delay_ms: 5_000 },
  },
  {
    id: 'error_500',
    group: 'down',
    label: 'Server error',
    description: 'Writes fail with status 500 and nothing is saved. Jobs check for a saved record, then retry.',
    fault: { operation: '*', kind: 'error_500' },
  },
  {
    id: 'error_429',
    group: 'down',
    label: 'Too many requests',
    description: 'Writes fail with status 429. Jobs wait for the requested time, then retry.',
    fault: { operation: '*', kind: 'error_429' },
  },
  {
    id: 'reset',
    group: 'lost',
    label: 'Connection lost before the write',
    description: 'Nothing is saved, but jobs cannot know that. They check for a saved record, then retry.',
    fault: { operation: '*', kind: 'reset' },
  },
  {
    id: 'lose_answer',
    group: 'lost',
    label: 'Response lost after the write',
    description: 'The write is saved, but its response never arrives. Jobs find the record and do not write it twice.',
    fault: { operation: '*', kind: 'lose_answer' },
  },
  {
    id: 'truncate',
    group: 'lost',
    label: 'Truncated response',
    description: 'The write is saved, but only half of the response arrives.',
    fault: { operation: '*', kind: 'truncate' },
  },
  {
    id: 'html',
    group: 'down',
    label: 'HTML instead of JSON',
    description: 'Writes return an HTML page and nothing is saved.',
    fault: { operation: '*', kind: 'html' },
  },
  {
    id: 'empty',
    group: 'lost',
    label: 'Empty response',
    description: 'Writes return an empty response and nothing is saved.',
    fault: { operation: '*', kind: 'empty' },
  },
  {
    id: 'refuse',
    group: 'refused',
    label: 'Writes rejected',
    description: 'The EMR rejects every write. Jobs fail immediately with its message.',
    fault: { operation: '*', kind: 'refuse', reason: 'The clinic does not accept this at the moment.' },
  },
  {
    id: 'refill_fails',
    group: 'refused',
    label: 'Refills rejected',
    description: 'A telephone encounter with a refill succeeds partially: the encounter is saved, the refill is not.',
    fault: {
      operation: 'add_refill',
      kind: 'refill_fails',
      reason: 'This medication cannot be refilled by telephone.',
    },
  },
  {
    id: 'correct_value',
    group: 'refused',
    label: 'Phone numbers changed',
    description: 'The EMR saves a different home phone number than it received and reports the change.',
    fault: {
      operation: 'update_patient',
      kind: 'correct_value',
      field: 'homePhone',
      value: '555-010-0199',
      reason: 'The clinic corrected the number.',
    },
  },
  {
    id: 'patients_down',
    group: 'down',
    label: 'Patient lookup fails',
    description: 'Jobs that look up a patient fail before they write. They retry for an hour.',
    fault: { operation: 'list_patients', kind: 'error_500' },
  },
  {
    id: 'receipts_down',
    group: 'lost',
    label: 'Record lookup fails',
    description:
      'Jobs cannot check for saved records. Combined with a lost response, a job needs review after an hour.',
    fault: { operation: 'find_receipt', kind: 'error_500' },
  },
];

export const emr = 'Larkspur';
/** A reset seeds the whole practice again, which takes one or two seconds. */
const timeout_ms = 30_000;

/** The control API rejected a request. */
export class ControlRefused extends Error {
  readonly status: number;
  constructor(request: string, status: number) {
    super(`The control API responded to ${request} with ${status}.`);
    this.name = 'ControlRefused';
    this.status = status;
  }
}

/** Sends a request to Larkspur's control API. */
export async function callControl<T>(
  { url, control_token }: Sandbox['larkspur'],
  method: string,
  path: string,
  body?: unknown,
): Promise<T> {
  let response: Response;
  try {
    response = await fetch(url + path, {
      method,
      headers: {
        'control-token': control_token,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(timeout_ms),
    });
  } catch (cause) {
    throw apiError('emr_unavailable', { emr }, { cause });
  }
  if (!response.ok) throw new ControlRefused(`${method} ${path}`, response.status);
  // docs/larkspur.md describes the responses of the control API.
  return (await response.json()) as T;
}
