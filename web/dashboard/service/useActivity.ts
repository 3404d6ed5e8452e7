import { useEffect } from 'react';
import { ApiError, call } from './api.ts';

/** Activity is reported at most this often. */
const pause_ms = 30_000;

/** Reports typing and clicking, so that the session does not expire while an operator fills in a long form. */
export function useActivity(expire: () => void): void {
  useEffect(() => {
    let reported_ms = Number.NEGATIVE_INFINITY;
    const report = async () => {
      if (performance.now() - reported_ms < pause_ms) return;
      reported_ms = performance.now();
      // The cheapest request that extends the session; session.get does not.
      await call('clients.list', {}).catch((error: unknown) => {
        if (error instanceof ApiError && error.code === 'operator_session_over') expire();
      });
    };
    const onActivity = () => void report();
    const events = ['keydown', 'pointerdown'] as const;
    for (const event of events) document.addEventListener(event, onActivity);
    return () => {
      for (const event of events) document.removeEventListener(event, onActivity);
    };
  }, [expire]);
}
