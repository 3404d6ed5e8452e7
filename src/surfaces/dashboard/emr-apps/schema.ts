import { type Static, Type } from 'typebox';
import { certificate_info, pem_length_max } from '../../../model/certificate.ts';
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
  /** The scopes to request, exactly; null: those that the server lists. */
  scope: nullable(Type.String()),
  /** The names of the constant headers. Their values are secret. */
  header_names: Type.Array(Type.String()),
  search_params: Type.Record(Type.String(), Type.String()),
  bulk_group: nullable(Type.String()),
  /** What the EMR is shown in the TLS handshake; null: nothing. */
  certificate: nullable(certificate_info),
  /** Authorities from which the EMR's certificate may come, besides the public ones. */
  authorities: Type.Array(certificate_info),
  requests_counted_per: Type.String(),
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
  /** How often EMRs fetched the key set of this app, and when for the last time; null: never. */
  key_fetches: Type.Integer(),
  keys_fetched_at: nullable(date_time),
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

/** What the EMR app of a vendor looks like. */
export const emr_preset = Type.Object({
  name: Type.String(),
  title: Type.String(),
  emr: Type.String(),
  way: Type.String(),
  basis: Type.Union([Type.Literal('documents'), Type.Literal('seen')]),
  address: Type.String(),
  steps: Type.Array(Type.String()),
  hosts: Type.Array(Type.String()),
  token_endpoint: Type.String(),
  tenant_path: nullable(Type.String()),
  scope: nullable(Type.String()),
  headers: Type.Record(Type.String(), Type.String()),
  search_params: Type.Record(Type.String(), Type.String()),
  bulk_group: nullable(Type.String()),
  requests_counted_per: Type.String(),
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

/** What is sent with the app's requests. */
const request_settings = {
  scope: Type.Optional(nullable(Type.String({ maxLength: 10_000 }))),
  headers: Type.Optional(Type.Record(Type.String(), secret({ maxLength: 2000 }), { maxProperties: 20 })),
  search_params: Type.Optional(Type.Record(Type.String(), Type.String({ maxLength: 2000 }), { maxProperties: 20 })),
  bulk_group: Type.Optional(nullable(Type.String({ maxLength: 64 }))),
  requests_counted_per: Type.Optional(Type.String({ maxLength: 20 })),
};

/** For the TLS connections to the EMR. Null removes one. */
const certificates = {
  certificate: Type.Optional(nullable(secret({ maxLength: pem_length_max }))),
  certificate_key: Type.Optional(nullable(secret({ maxLength: pem_length_max }))),
  ca_certificates: Type.Optional(nullable(secret({ maxLength: pem_length_max }))),
};

export const new_app = Type.Object({
  name,
  logo: Type.Optional(logo),
  emr: Type.String(),
  hosts,
  ...endpoints,
  ...request_settings,
  ...certificates,
  credentials,
  ...mrn_setting,
});

/** Fields that are not sent stay as they are. */
export const app_changes = Type.Object({
  name: Type.Optional(name),
  logo: Type.Optional(logo),
  hosts: Type.Optional(hosts),
  ...endpoints,
  ...request_settings,
  ...certificates,
  credentials: Type.Optional(credentials),
  ...mrn_setting,
});
