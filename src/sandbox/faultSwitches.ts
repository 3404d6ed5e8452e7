/** A fault as Larkspur's control API takes it, but for how often it strikes. */
export type SwitchedFault = { operation: string; kind: string; reason?: string; field?: string; value?: string } & {
  delay_ms?: number;
};
export type Switch = { id: string; label: string; description: string; fault: SwitchedFault };

/** The faults that an operator can switch on. `*` stands for every write. */
export const fault_switches: readonly Switch[] = [
  {
    id: 'slow',
    label: 'Slow writes',
    description: 'Each write takes five seconds longer. Jobs wait for it.',
    fault: { operation: '*', kind: 'delay', delay_ms: 5_000 },
  },
  {
    id: 'error_500',
    label: 'Writes fail with an error',
    description: 'Writes are answered with 500, and nothing is written. Jobs ask what became of them and try again.',
    fault: { operation: '*', kind: 'error_500' },
  },
  {
    id: 'error_429',
    label: 'Too many requests',
    description: 'Writes are answered with 429. Jobs wait as long as they are asked to and try again.',
    fault: { operation: '*', kind: 'error_429' },
  },
  {
    id: 'reset',
    label: 'Connection breaks before the write',
    description: 'Nothing is written. Jobs cannot know that: they ask first, then try again.',
    fault: { operation: '*', kind: 'reset' },
  },
  {
    id: 'lose_answer',
    label: 'Answer is lost after the write',
    description: 'The write is done but never confirmed. Jobs find it by its marker and do not write twice.',
    fault: { operation: '*', kind: 'lose_answer' },
  },
  {
    id: 'truncate',
    label: 'Answer breaks off',
    description: 'The write is done, and half of the answer arrives.',
    fault: { operation: '*', kind: 'truncate' },
  },
  {
    id: 'html',
    label: 'Web page instead of data',
    description: 'Writes are answered with a page for people, and nothing is written.',
    fault: { operation: '*', kind: 'html' },
  },
  {
    id: 'empty',
    label: 'Empty answer',
    description: 'Writes are answered with nothing at all, and nothing is written.',
    fault: { operation: '*', kind: 'empty' },
  },
  {
    id: 'refuse',
    label: 'Writes are refused',
    description: 'The clinic says no. Jobs fail at once, with its words.',
    fault: { operation: '*', kind: 'refuse', reason: 'The clinic does not take this at the moment.' },
  },
  {
    id: 'refill_fails',
    label: 'Refills are refused',
    description: 'A telephone encounter with a refill ends in part: the encounter stands, the refill does not.',
    fault: {
      operation: 'add_refill',
      kind: 'refill_fails',
      reason: 'This medication cannot be refilled by telephone.',
    },
  },
  {
    id: 'correct_value',
    label: 'Phone numbers are corrected',
    description: 'The clinic saves another home phone number than it was sent, and says so.',
    fault: {
      operation: 'update_patient',
      kind: 'correct_value',
      field: 'homePhone',
      value: '555-010-0199',
      reason: 'The number was completed by the clinic.',
    },
  },
  {
    id: 'patients_down',
    label: 'Patients cannot be looked up',
    description: 'Jobs that look a patient up fail before they write, and try again for an hour.',
    fault: { operation: 'list_patients', kind: 'error_500' },
  },
  {
    id: 'receipts_down',
    label: 'Lost writes cannot be asked for',
    description: 'Together with a lost answer: after an hour such a job needs a person to look.',
    fault: { operation: 'find_receipt', kind: 'error_500' },
  },
];
