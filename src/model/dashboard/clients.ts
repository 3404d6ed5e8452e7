import { type Static, Type } from 'typebox';

/** An application as the dashboard lists it. */
export const client_row = Type.Object({
  client_id: Type.String(),
  name: Type.String(),
  mode: Type.Enum(['live', 'test']),
});
export type ClientRow = Static<typeof client_row>;
