import { ApiError } from '../../../catalog/errors.ts';
import { newId } from '../../../catalog/ids.ts';
import { EmrFailure } from '../../../emr/emrFailure.ts';
import type { AvailabilityQuery } from '../../../model/availability.ts';
import { AvailabilityFetchRequest } from '../../../model/requests/liveSchedule.ts';
import { addDays } from '../../../platform/time/days.ts';
import { readAvailability } from '../../records/readAvailability.ts';
import { defineWrite, failureFields } from '../defineWrite.ts';
import { readDays, readProviderIds } from './liveSchedule.ts';

/** Reads the schedule of providers live from the EMR and computes when they are free. */
export const fetchAvailability = defineWrite({
  type: 'availability.fetch',
  label: 'Live availability fetch',
  plural_label: 'Live availability fetches',
  body: AvailabilityFetchRequest,
  sample: { start_date: '2031-03-03', end_date: '2031-03-03', provider_ids: ['501'] },
  reads_only: true,
  needs: ['getSchedule', 'findAppointments'],
  restricted: false,
  stored_by: 'getSchedule',
  check: async ({ ctx, account, body }) => {
    const provider_ids = readProviderIds(body.provider_ids);
    const days = readDays(body, { provider_ids });
    const { start_date: _start, end_date: _end, ...options } = body;
    const query: AvailabilityQuery = {
      ...options,
      ...{ start_date: days.from, end_date: days.to, provider_ids: provider_ids.join(',') },
    };
    // Checks the options and references as the cached list does.
    await readAvailability(ctx.db, account, query);
    // A lane of its own: a read neither waits for other jobs nor delays them.
    return { lane: { key: `fetch:${newId()}` }, lookups: { query, ids: provider_ids } };
  },
  acceptedResponse: ({ job_id }) => ({
    success: true,
    message: 'Availability fetch queued. A webhook event follows on completion.',
    job_id,
  }),
  run: async ({ input: { query, ids }, emr, db, scope }) => {
    const { start_date, end_date } = query;
    // An appointment or a block of the evening before may last into the first day.
    const search = { days: { from: addDays(start_date, -1), to: end_date }, provider_ehr_ids: ids };
    const schedule = await emr.getSchedule(search);
    const appointments = await emr.findAppointments(search);
    const { results, timezone } = await readAvailability(db, scope, query, { ...schedule, appointments }).catch(
      (error: unknown) => {
        // A provider, location or visit type that was removed since the request was accepted.
        if (error instanceof ApiError) throw new EmrFailure('refused', error.message, { code: 'unknown_value' });
        throw error;
      },
    );
    const data = { success: true, start_date, end_date, ...results, timezone };
    return { event: { type: 'availability.live_fetch_completed', data } };
  },
  onFailure: ({ failure }) => {
    return { state: 'failed', event: { type: 'availability.live_fetch_failed', data: failureFields(failure) } };
  },
});
