import { type Static, Type } from 'typebox';
import { nullable } from '../fields.ts';

export const encryption = Type.Object({
  /** `file`: the service manages the master key and can rotate it. */
  source: Type.Enum(['settings', 'file']),
  current: Type.String(),
  previous: nullable(Type.String()),
  /** How many keys each master key wraps. */
  wrapped: Type.Array(Type.Object({ id: Type.String(), keys: Type.Integer() })),
});
export type Encryption = Static<typeof encryption>;

/** What is deleted automatically, and after how many days; null means never. */
export const retention = Type.Array(
  Type.Object({ what: Type.String(), days: nullable(Type.Number()), setting: nullable(Type.String()) }),
);
export type Retention = Static<typeof retention>;
