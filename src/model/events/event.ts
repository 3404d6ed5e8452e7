import { type TSchema, Type } from 'typebox';
import { failure_code } from '../../catalog/failures.ts';
import { nullable } from '../fields.ts';

export type EventKind = {
  summary: string;
  /** Whether the envelope has `job_id` and `access_token_reference_id`. */
  has_job_id: boolean;
  has_account_reference: boolean;
  /** How the sandbox makes it happen. */
  trigger: EventTrigger;
  data: TSchema;
  /** The data if a sync found the change, for types of changes that staff make in the EMR. Then there is no `job_id`. */
  sync_data?: TSchema;
};

/** The events of a noun by their types. */
export type EventKinds = Readonly<Record<string, EventKind>>;

/** A request, and what goes wrong with it: a fault of the EMR, or the account is unlinked while the job waits. */
export type EventTrigger = {
  /** One of those in src/surfaces/sandbox/triggers. */
  request: string;
  fault?: { operation: string; kind: string };
  unlinks_account?: true;
};

/** The EMR refuses this operation once. */
export function refusal<const Operation extends string>(operation: Operation) {
  return { operation, kind: 'refuse' } as const;
}

/** Why something failed: `code` for programs, `description` for people. */
export const reasons = Type.Array(
  Type.Object(
    { code: failure_code, description: Type.String({ description: 'Human-readable reason' }) },
    { schema_name: 'FailureReason', description: 'A reason for a failure' },
  ),
);

/** What a write changed in the EMR, field by field. `note` is present only if the EMR saved a different value. */
export const audit_trail = Type.Array(
  Type.Object(
    {
      field_label: Type.String({ description: 'The field as the EMR labels it' }),
      before: nullable(Type.String({ description: 'The value before the write; null if there was none' })),
      after: nullable(Type.String({ description: 'The value after the write; null if there is none' })),
      property: Type.String({ description: 'The field’s name in the request' }),
      note: Type.Optional(Type.String({ description: 'Present only if the EMR saved a different value' })),
    },
    { schema_name: 'FieldChange', description: 'A field that a write changed in the EMR' },
  ),
);
