import { Type } from 'typebox';
import { text } from '../../../model/fields.ts';
import { reveal_kinds } from '../../../product/operators/operatorSessions.ts';

/** An application as the dashboard lists it. */
export const client_row = Type.Object({
  client_id: Type.String(),
  name: Type.String(),
  mode: Type.Enum(['live', 'test']),
});

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
