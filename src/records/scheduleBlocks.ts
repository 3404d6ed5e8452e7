import type { ScheduleBlockSource } from '../model/records/scheduleBlocks.ts';
import { inactiveProviders } from './providers.ts';
import type { RecordKind } from './recordKind.ts';
import { timezoneOf } from './timezoneOf.ts';
import { withOffset } from './withOffset.ts';

/** Kept for availability alone; no endpoint shows them. */
export const scheduleBlocks: RecordKind<ScheduleBlockSource, string> = {
  table: 'schedule_blocks',
  list: (operations) => operations.listScheduleBlocks,
  keeps: [],
  resting: inactiveProviders,
  lookup: timezoneOf,
  row: (source, id, _kept, timezone) => {
    const datetime = withOffset(source.starts, timezone);
    const { minutes, provider_ehr_id, facility_ehr_id } = source;
    return {
      doc: { id, ...source, starts: datetime },
      starts_at: new Date(datetime),
      minutes,
      provider_ehr_id,
      facility_ehr_id,
    };
  },
};
