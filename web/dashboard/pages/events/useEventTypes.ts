import type { EventTypeRow } from '../../../../src/model/dashboard/webhooks.ts';
import { useAnswer } from '../../service/useService.ts';

/** Every type of event there is; none until they are known. */
export function useEventTypes(): EventTypeRow[] {
  return useAnswer<{ event_types: EventTypeRow[] }>('event-types').data?.event_types ?? [];
}
