import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { refresh, type Topic } from './useService.ts';

const refresh_ms = 1_000;

/** Keeps what is shown fresh while the page is open. Gives whether the stream is up. */
export function useLive(over: () => void): boolean {
  const client = useQueryClient();
  const [up, setUp] = useState(true);
  useEffect(() => {
    const stream = new EventSource('/dashboard/api/live');
    const changed = new Set<Topic>();
    const refreshChanged = () => {
      for (const topic of changed) void refresh(client, topic);
      changed.clear();
    };
    stream.addEventListener('open', () => setUp(true));
    stream.addEventListener('error', () => setUp(false));
    stream.addEventListener('changed', (event) => {
      // A busy worker changes jobs many times a second: lists that move once a second can still be read.
      if (changed.size === 0) setTimeout(refreshChanged, refresh_ms);
      // The service names no topic but these.
      changed.add(event.data as Topic);
    });
    stream.addEventListener('over', () => {
      stream.close();
      over();
    });
    return () => stream.close();
  }, [client, over]);
  return up;
}
