import { type Static, Type } from 'typebox';
import { activity, id, nullable } from '../fields.ts';
import { recordKind } from './recordKind.ts';

const VisitTypeRule = Type.Object(
  {
    start_time: Type.String({ notation: 'HH:MM:SS', examples: ['09:00:00'] }),
    end_time: Type.String({ notation: 'HH:MM:SS', examples: ['10:00:00'] }),
    total_visits: Type.Integer(),
    visit_type_id: Type.String({ examples: ['NP'] }),
    visit_type_desc: Type.String({ examples: ['New patient'] }),
  },
  { schema_name: 'VisitTypeRule', description: 'How many visits of a type fit into a part of a shift' },
);

const Recurrence = Type.Object(
  {
    rec_start_date: Type.String({ examples: ['2026-01-05T00:00:00'] }),
    recur_interval_type: Type.String({
      description: 'Unit of the interval: `days`, `weeks`, `months` or `years`',
      examples: ['weeks'],
    }),
    recur_interval_amount: Type.Integer(),
    recur_interval_description: Type.String({ examples: ['Every week'] }),
    rec_end_date: Type.Optional(Type.String({ examples: ['2031-12-31T00:00:00'] })),
  },
  { schema_name: 'Recurrence', description: 'How often a shift repeats' },
);

export const Shift = Type.Object(
  {
    start: Type.String({
      description: 'Start in the time zone of the EMR instance',
      notation: 'THH:MM:SS',
      examples: ['T09:00:00'],
    }),
    end: Type.String({
      description: 'End in the time zone of the EMR instance; `T24:00:00` and `T23:59:59` are the end of the day',
      notation: 'THH:MM:SS',
      examples: ['T12:00:00'],
    }),
    facility_id: Type.Optional(Type.String()),
    facility_name: Type.Optional(Type.String()),
    set_start_date: Type.Optional(Type.String({ examples: ['2026-01-05T00:00:00'] })),
    set_end_date: Type.Optional(Type.String({ examples: ['2031-12-31T00:00:00'] })),
    set_description: Type.Optional(Type.String({ examples: ['Morning clinic'] })),
    recurrence: Type.Optional(Recurrence),
    visit_type_rules: Type.Optional(Type.Array(VisitTypeRule)),
  },
  { schema_name: 'Shift', description: 'A working time' },
);

export const Hours = Type.Array(
  Type.Object(
    { day: Type.String({ examples: ['Monday'] }), shifts: Type.Array(Shift) },
    { schema_name: 'ProviderDay', description: 'The working times on a day of the week' },
  ),
  { description: 'The working hours of a week, day by day' },
);

export const ProviderSource = Type.Object({
  ehr_id: Type.String(),
  name: Type.String(),
  npi: nullable(Type.String()),
  timezone: Type.String(),
  status: activity,
  hours: Hours,
});
export type ProviderSource = Static<typeof ProviderSource>;

export const Provider = Type.Object(
  {
    id,
    ehr_id: Type.String(),
    name: Type.String({ description: 'Name of the provider', examples: ['Harper Samplewell, MD'] }),
    npi: nullable(Type.String()),
    timezone: Type.String(),
    status: activity,
    hide_in_availability: Type.Boolean(),
    hours: Hours,
  },
  { schema_name: 'Provider', description: 'A provider of the practice' },
);
export type Provider = Static<typeof Provider>;

/** Rows are created in product/records/providers.ts: facility names come from the locations. */
export const providers = recordKind({
  name: 'providers',
  operation: 'listProviders',
  consent: 'providers',
  source: ProviderSource,
  wire: Provider,
  labels: { singular: 'provider', plural: 'providers' },
  group: 'Practice',
  after: ['locations'],
  kept_columns: ['status_set', 'hide_in_availability', 'hours_set', 'source'],
  list: { returns: 'all', summary: 'List providers' },
  dashboard_columns: ['name', 'npi', 'ehr_id', 'hide_in_availability', 'status'],
});
