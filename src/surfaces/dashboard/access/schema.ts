import { Type } from 'typebox';
import { date_time, id, nullable } from '../../../model/fields.ts';
import { access_kinds, access_states, second_factors, sign_in_ways } from '../../../product/operators/accessReport.ts';
import { review_decisions } from '../../../product/operators/accessReviews.ts';

export const access_row = Type.Object({
  id,
  kind: Type.Enum([...access_kinds]),
  name: Type.String(),
  /** The email address, or the `client_id`. */
  account: Type.String(),
  label: nullable(Type.String()),
  status: Type.Enum([...access_states]),
  rights: Type.Array(Type.String()),
  sign_in: Type.Array(Type.Enum([...sign_in_ways])),
  second_factor: Type.Array(Type.Enum([...second_factors])),
  created_at: date_time,
  created_by: nullable(Type.String()),
  invited_at: nullable(date_time),
  last_sign_in_at: nullable(date_time),
  last_used_at: nullable(date_time),
  expires_at: nullable(date_time),
});

const decision = Type.Enum([...review_decisions]);

/** A review in the list. The fields from `note` on are null until it is attested. */
export const review_row = Type.Object({
  id,
  started_by: Type.String(),
  started_at: date_time,
  note: nullable(Type.String()),
  hash: nullable(Type.String()),
  attested_by: nullable(Type.String()),
  attested_at: nullable(date_time),
});

export const review = Type.Object({
  ...review_row.properties,
  rows: Type.Array(access_row),
  /** By the id of the row. */
  decisions: nullable(Type.Record(Type.String(), decision)),
  /** Whether the stored review still has its hash. */
  intact: Type.Boolean(),
  /** The rows that were to be removed, and still have access. */
  remaining: Type.Array(Type.String()),
});

export const attestation = Type.Object({
  /** One for each row. */
  decisions: Type.Array(Type.Object({ id, decision }, { additionalProperties: false }), { maxItems: 10_000 }),
  note: Type.Optional(Type.String({ maxLength: 2_000 })),
});
