import { Type } from 'typebox';
import { date_time, text } from '../fields.ts';

/** What an operator can reveal the patient details of. */
export const reveal_kinds = ['job', 'event', 'received_request', 'patient'] as const;
export type RevealKind = (typeof reveal_kinds)[number];

export const new_reveal = Type.Object({
  kind: Type.Enum([...reveal_kinds]),
  /** The number of a job, or the id of another record. */
  id: Type.String({ minLength: 1, maxLength: 40 }),
  reason: text({
    minLength: 10,
    maxLength: 500,
    messages: { minLength: 'Give a reason of at least 10 characters' },
  }),
});

export const reveal = Type.Object({ expires_at: date_time });

/** A field of responses whose patient details can be revealed: the caller's role hides them. */
export const details_hidden = Type.Optional(Type.Boolean());
