import { type Static, Type } from 'typebox';
import { credential_max, date_time, id, nullable, secret } from '../fields.ts';
import { mrn_setting } from './emrSettings.ts';

/** An EMR app without its secrets. */
export const emr_app = Type.Object({
  id,
  name: Type.String(),
  logo: nullable(Type.String()),
  emr: Type.String(),
  emr_name: Type.String(),
  /** Null: the default for every address. */
  emr_address: nullable(Type.String()),
  mrn_system: nullable(Type.String()),
  mrn_type: nullable(Type.String()),
  way: Type.String(),
  /** The credential fields that are set; null for secrets. */
  values: Type.Record(Type.String(), nullable(Type.String())),
  accounts: Type.Integer(),
  created_at: date_time,
});
export type EmrAppRow = Static<typeof emr_app>;

/** An EMR for which apps can be configured. */
export const emr_app_choice = Type.Object({
  emr: Type.String(),
  emr_name: Type.String(),
  /** Whether an app can say which identifier is the MRN. */
  has_mrn_rule: Type.Boolean(),
  ways: Type.Array(
    Type.Object({
      name: Type.String(),
      label: Type.String(),
      about: Type.String(),
      fields: Type.Array(
        Type.Object({ name: Type.String(), label: Type.String(), secret: Type.Boolean(), optional: Type.Boolean() }),
      ),
    }),
  ),
});

const name = Type.String({ minLength: 1, maxLength: 100 });
/** A `data:` URL. */
const logo = nullable(Type.String({ maxLength: 90_000 }));
const credentials = Type.Record(Type.String(), secret({ maxLength: credential_max }));

export const new_app = Type.Object({
  name,
  logo: Type.Optional(logo),
  emr: Type.String(),
  emr_address: Type.Optional(nullable(Type.String({ maxLength: 2000 }))),
  credentials,
  ...mrn_setting,
});
export type NewApp = Static<typeof new_app>;

/** Fields that are not sent stay as they are. The address cannot change: accounts belong to it. */
export const app_changes = Type.Object({
  name: Type.Optional(name),
  logo: Type.Optional(logo),
  credentials: Type.Optional(credentials),
  ...mrn_setting,
});
