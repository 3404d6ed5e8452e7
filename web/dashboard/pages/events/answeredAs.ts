import type { ReceivedRow } from '../../../../src/model/dashboard/receiver.ts';

/** How the receiver answered, or answers, in a few words. */
export function answeredAs({ status, delay_ms }: Pick<ReceivedRow, 'status' | 'delay_ms'>): string {
  const what = status === null ? 'Connection closed' : String(status);
  return delay_ms > 0 ? `${what} after ${delay_ms / 1000} s` : what;
}
