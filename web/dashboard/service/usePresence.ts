import { useEffect } from 'react';
import type { Session } from '../../../src/model/dashboard/session.ts';
import { ask } from './ask.ts';

/** A person at work is told to the service so often at most. */
const pause_ms = 30_000;

/** Typing and clicking are not idle, also where the page asks the service for nothing: a week of hours takes its time. */
export function usePresence(over: () => void): void {
  useEffect(() => {
    let told_ms = Number.NEGATIVE_INFINITY;
    const tell = async () => {
      if (performance.now() - told_ms < pause_ms) return;
      told_ms = performance.now();
      const { session } = await ask<{ session: Session | null }>('session');
      if (!session) over();
    };
    // What cannot be told now is told with the next key.
    const act = () => void tell().catch(() => undefined);
    const doings = ['keydown', 'pointerdown'] as const;
    for (const doing of doings) document.addEventListener(doing, act);
    return () => {
      for (const doing of doings) document.removeEventListener(doing, act);
    };
  }, [over]);
}
