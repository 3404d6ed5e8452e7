import { Type } from 'typebox';
import { date_time, nullable, success } from '../../model/fields.ts';

/** The application, as people see it. */
export const ShownClient = Type.Object({
  name: Type.String(),
  logo: nullable(Type.String()),
  colour: nullable(Type.String()),
});

export const ShownPractice = Type.Object({
  id: Type.String(),
  name: Type.String(),
  city: nullable(Type.String()),
  state: nullable(Type.String()),
  parent: nullable(Type.String()),
  /** Whether it can be linked. */
  available: Type.Boolean(),
});

/** What the page shows before and during a sign-in. */
export const LinkSession = Type.Object({
  success,
  /** How people know the EMR: the name of its app, its own, or the server's host. */
  emr: Type.String(),
  /** The EMR product, or the standard that its server follows. */
  product: Type.String(),
  /** Set if an operator configured the sign-in: Link requests only what is missing. */
  app: nullable(Type.Object({ logo: nullable(Type.String()) })),
  organization: Type.String(),
  emr_host: Type.String(),
  /** Host and path. */
  emr_address: Type.String(),
  /** Set if nobody can sign in at this address: then there is nothing to agree to either. */
  problem: nullable(Type.Object({ code: Type.String(), host: Type.String(), reason: Type.String() })),
  /** What will be read and changed. `known`: as stated by this server. */
  access: Type.Object({
    known: Type.Boolean(),
    reads: Type.Array(Type.String()),
    writes: Type.Array(Type.String()),
  }),
  consent: nullable(Type.Object({ terms_id: Type.String(), required: Type.Boolean() })),
  update: Type.Boolean(),
  fields: Type.Array(
    Type.Object({
      name: Type.String(),
      label: Type.String(),
      secret: Type.Boolean(),
      autocomplete: Type.String(),
      optional: Type.Boolean(),
      known: Type.Boolean(),
      value: nullable(Type.String()),
    }),
  ),
  /** The sign-in methods to choose from; empty if there is only one. */
  ways: Type.Array(
    Type.Object({
      name: Type.String(),
      label: Type.String(),
      about: Type.String(),
      fields: Type.Array(Type.String()),
      on_page: Type.Boolean(),
      /** The host of the page, or of the server, that receives what the person enters. */
      sign_in_host: Type.String(),
      tells: nullable(Type.Object({ what: Type.String(), value: Type.String() })),
    }),
  ),
  /** The sign-in method of the account that is being re-linked. */
  way: nullable(Type.String()),
  resend_code: Type.Boolean(),
  code_digits: nullable(Type.Integer()),
  /** Where the sandbox EMR shows one-time codes. */
  codes_page: nullable(Type.String()),
  language: nullable(Type.String()),
  returns: Type.Boolean(),
  /** Whether the person chooses the practice, and the choice. */
  finds_practice: Type.Boolean(),
  practice: nullable(ShownPractice),
  /** Since when the EMR of the account that is re-linked has not responded; null if it responds. */
  outage_since: nullable(date_time),
  client: ShownClient,
  expires_at: Type.String(),
  /** The link can be opened in another browser, and its success still reaches the application. */
  resumable: Type.Boolean(),
});
