import { type Static, Type } from 'typebox';
import { credential_max, date_time, id, nullable, secret } from '../../../model/fields.ts';
import { mrn_setting } from '../accounts/schema.ts';

/** An EMR app without its secrets. */
export const emr_app = Type.Object({
  id,
  name: Type.String(),
  logo: nullable(Type.String()),
  emr: Type.String(),
  emr_name: Type.String(),
  hosts: Type.Array(Type.String()),
  token_endpoint: Type.String(),
  authorization_endpoint: nullable(Type.String()),
  issuer: nullable(Type.String()),
  /** Where the path of the EMR's address has the tenant; null: in its first segment. */
  tenant_path: nullable(Type.String()),
  mrn_system: nullable(Type.String()),
  mrn_type: nullable(Type.String()),
  way: Type.String(),
  /** The credential fields that are set; null for secrets. */
  values: Type.Record(Type.String(), nullable(Type.String())),
  /** False: the EMR has not issued a client ID yet, and the app is not used. */
  registered: Type.Boolean(),
  /** What must be registered with the EMR for the sign-in method; null if nothing. */
  key_set_url: nullable(Type.String()),
  redirect_uri: nullable(Type.String()),
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
      /** Whether the person signs in on a page of the EMR. */
      on_page: Type.Boolean(),
      /** Whether the app has URLs that must be registered before the EMR issues a client ID. */
      registers: Type.Boolean(),
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
const hosts = Type.Array(Type.String({ maxLength: 300 }), { maxItems: 100 });
const url = Type.String({ maxLength: 2000 });

/** Where the app is used, and where its credentials may go. Without an endpoint: the host of the EMR. */
const endpoints = {
  token_endpoint: Type.Optional(url),
  authorization_endpoint: Type.Optional(nullable(url)),
  issuer: Type.Optional(nullable(url)),
  tenant_path: Type.Optional(nullable(Type.String({ maxLength: 300 }))),
};

export const new_app = Type.Object({
  name,
  logo: Type.Optional(logo),
  emr: Type.String(),
  hosts,
  ...endpoints,
  credentials,
  ...mrn_setting,
});

/** Fields that are not sent stay as they are. */
export const app_changes = Type.Object({
  name: Type.Optional(name),
  logo: Type.Optional(logo),
  hosts: Type.Optional(hosts),
  ...endpoints,
  credentials: Type.Optional(credentials),
  ...mrn_setting,
});
