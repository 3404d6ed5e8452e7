import { useEffect } from 'react';
import { ask, Problem } from './ask.ts';

/** A person at work is told to the service so often at most. */
const pause_ms = 30_000;

/** Typing and clicking are not idle, also where the page asks the service for nothing: a week of hours takes its time. */
export function usePresence(over: () => void): void {
  useEffect(() => {
    let told_ms = Number.NEGATIVE_INFINITY;
    const tell = async () => {
      if (performance.now() - told_ms < pause_ms) return;
      told_ms = performance.now();
      // The shortest answer that a request of a person's own gets; asking for the session does not prolong it.
      await ask('clients').catch((error: unknown) => {
        if (error instanceof Problem && error.code === 'operator_session_over') over();
      });
    };
    const act = () => void tell();
    const doings = ['keydown', 'pointerdown'] as const;
    for (const doing of doings) document.addEventListener(doing, act);
    return () => {
      for (const doing of doings) document.removeEventListener(doing, act);
    };
  }, [over]);
}
