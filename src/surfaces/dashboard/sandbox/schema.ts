import { Type } from 'typebox';
import { date_time, nullable } from '../../../model/fields.ts';
import { fault_groups } from '../../sandbox/faultSwitches.ts';

/** A fault of the reference EMR that can be turned on. */
export const fault_switch = Type.Object({
  id: Type.String(),
  group: Type.Enum([...fault_groups]),
  label: Type.String(),
  description: Type.String(),
  on: Type.Boolean(),
  /** It affects one request and then turns off. */
  once: Type.Boolean(),
});

export const sandbox_state = Type.Object({
  /** The URL of the practice's screens. */
  clinic_url: Type.String(),
  clinic_name: Type.String(),
  /** The client that the sandbox created; the others cannot open the practice's screens. */
  client_id: Type.String(),
  switches: Type.Array(fault_switch),
  /** Faults that were set by other means, such as a test. */
  other_faults: Type.Integer(),
  staff: Type.Array(
    Type.Object({
      user_name: Type.String(),
      /** Of a made-up person. */
      password: Type.String(),
      role: Type.String(),
      code: Type.String(),
      locked_until: nullable(date_time),
    }),
  ),
  /** How long the codes are valid. */
  seconds_left: Type.Integer(),
});
