import { Type } from 'typebox';
import { date_time, id, nullable } from '../../../model/fields.ts';
import { disposal_rules } from '../../../product/erasure/disposals.ts';
import { hold_coverages } from '../../../product/erasure/holds.ts';

const days = Type.Integer();
const data = Type.Enum(['events', 'job_inputs', 'unlinked_records', 'requests']);

export const retention_period = Type.Object({
  data,
  label: Type.String(),
  /** What applies. */
  days,
  /** Null: the period of the installation. */
  own_days: nullable(days),
  installation_days: days,
  days_max: days,
});

const own_days = Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: 3_650 })));

/** Null returns to the period of the installation. */
export const period_changes = Type.Object({
  events: own_days,
  job_inputs: own_days,
  unlinked_records: own_days,
  requests: own_days,
});

export const legal_hold = Type.Object({
  id,
  covers: Type.Enum([...hold_coverages]),
  org_id: nullable(Type.String()),
  patient_id: nullable(id),
  patient_mrn: nullable(Type.String()),
  /** What the operator calls the case. */
  reference: Type.String(),
  placed_by: Type.String(),
  placed_at: date_time,
  lifted_by: nullable(Type.String()),
  lifted_at: nullable(date_time),
});

export const new_hold = Type.Object({
  covers: Type.Enum([...hold_coverages]),
  /** The practice, by its ID or `org_id`. */
  organization: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  /** By ID or MRN. */
  patient: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  reference: Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' }),
});

const day = Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$' });

export const report_period = Type.Object({ since: Type.Optional(day), until: Type.Optional(day) });

export const disposal = Type.Object({
  client_id: Type.String(),
  day,
  /** A kind of retained data, or the table of an erasure. */
  data: Type.String(),
  rule: Type.Enum([...disposal_rules]),
  /** The period; null for an erasure. */
  days: nullable(days),
  rows: Type.Integer(),
  first_at: date_time,
  last_at: date_time,
});
