import type { Change, ChangesListResponse } from './generated/types.gen.ts';
import { type RequestOptions, sleep, type Transport } from './transport.ts';

export type FollowOptions = RequestOptions & {
  /** Where to continue: the cursor that `saveCursor` stored last, or `latest`. Default: all current records first. */
  cursor?: string | undefined;
  /** Only these kinds of records, as an array or with commas as in `changes.list`. Default: all. */
  kinds?: ReadonlyArray<Change['kind']> | string | undefined;
  /** How many changes one request returns. Default: 200. */
  limit?: number | undefined;
  /** Called with a cursor once the loop has handled every change before it. Store it with your copy of the records. */
  saveCursor?: ((cursor: string) => unknown) | undefined;
  /** How long to wait for new changes once there are none. Default: 10 seconds. */
  pollMs?: number | undefined;
  /** End once there are no more changes, instead of waiting for new ones. */
  untilCurrent?: boolean | undefined;
};

/**
 * The changes of the organization's records, until the loop or `signal` ends it. A change whose cursor was not saved
 * appears again. Throws `CursorExpiredError` if the cursor is no longer valid: delete your copy, and follow without one.
 */
export async function* followChanges(
  transport: Transport,
  { cursor, kinds, limit, saveCursor, pollMs = 10_000, untilCurrent = false, ...options }: FollowOptions = {},
): AsyncGenerator<Change, void, undefined> {
  for (let at = cursor || undefined; ; ) {
    const query = { cursor: at, limit, kinds: typeof kinds === 'string' ? kinds : kinds?.join(',') };
    const page = await transport.request<ChangesListResponse>({ method: 'GET', path: '/v1/changes', query }, options);
    yield* page.changes;
    if (page.next_cursor !== at) await saveCursor?.(page.next_cursor);
    at = page.next_cursor;
    if (page.has_more) continue;
    if (untilCurrent) return;
    await sleep(pollMs, options.signal);
  }
}
