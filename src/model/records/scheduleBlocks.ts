import { type Static, Type } from 'typebox';
import { emr_value, id, nullable } from '../fields.ts';
import { recordKind } from './recordKind.ts';

const fields = {
  ehr_id: Type.String(),
  starts: Type.String({ description: 'YYYY-MM-DDTHH:MM:SS in the time zone of the EMR instance' }),
  minutes: Type.Integer(),
  provider_ehr_id: Type.String(),
  facility_ehr_id: nullable(Type.String({ description: 'Null blocks all facilities' })),
  reason: emr_value.text,
};

export const ScheduleBlockSource = Type.Object(fields);
export type ScheduleBlockSource = Static<typeof ScheduleBlockSource>;

/** A period in which a provider takes no appointments. Used for availability only; no endpoint returns it. */
export const scheduleBlocks = recordKind({
  name: 'schedule_blocks',
  operation: 'listScheduleBlocks',
  consent: 'schedules',
  source: ScheduleBlockSource,
  wire: Type.Object({ id, ...fields }),
  labels: { singular: 'schedule block', plural: 'schedule blocks' },
  group: 'Appointments',
  after: ['providers'],
  active_providers_only: true,
  lists_future_only: true,
});
