import { type Static, Type } from 'typebox';
import { activity, id, nullable } from './fields.ts';

const VisitTypeRule = Type.Object({
  start_time: Type.String({ description: 'HH:MM:SS' }),
  end_time: Type.String({ description: 'HH:MM:SS' }),
  total_visits: Type.Integer(),
  visit_type_id: Type.String(),
  visit_type_desc: Type.String(),
});

const Recurrence = Type.Object({
  rec_start_date: Type.String(),
  recur_interval_type: Type.String({ description: 'days, weeks or months' }),
  recur_interval_amount: Type.Integer(),
  recur_interval_description: Type.String(),
  rec_end_date: Type.Optional(Type.String()),
});

export const Shift = Type.Object({
  start: Type.String({ description: 'THH:MM:SS in the timezone of the EMR instance' }),
  end: Type.String({ description: 'THH:MM:SS in the timezone of the EMR instance' }),
  facility_id: Type.Optional(Type.String()),
  facility_name: Type.Optional(Type.String()),
  set_start_date: Type.Optional(Type.String()),
  set_end_date: Type.Optional(Type.String()),
  set_description: Type.Optional(Type.String()),
  recurrence: Type.Optional(Recurrence),
  visit_type_rules: Type.Optional(Type.Array(VisitTypeRule)),
});

export const Hours = Type.Array(Type.Object({ day: Type.String(), shifts: Type.Array(Shift) }));

/** A provider as an EMR knows it. */
export const ProviderSource = Type.Object({
  ehr_id: Type.String(),
  name: Type.String(),
  npi: nullable(Type.String()),
  timezone: Type.String(),
  status: activity,
  hours: Hours,
});
export type ProviderSource = Static<typeof ProviderSource>;

export const Provider = Type.Object({
  id,
  ehr_id: Type.String(),
  name: Type.String(),
  npi: nullable(Type.String()),
  timezone: Type.String(),
  status: activity,
  hide_in_availability: Type.Boolean(),
  hours: Hours,
});
export type Provider = Static<typeof Provider>;
