import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { refresh, type Topic } from './useService.ts';

/** Keeps what is shown fresh while the page is open. Gives whether the stream is up. */
export function useLive(over: () => void): boolean {
  const client = useQueryClient();
  const [up, setUp] = useState(true);
  useEffect(() => {
    const stream = new EventSource('/dashboard/api/live');
    stream.addEventListener('open', () => setUp(true));
    stream.addEventListener('error', () => setUp(false));
    // The service names no topic but these.
    stream.addEventListener('changed', (event) => void refresh(client, event.data as Topic));
    stream.addEventListener('over', () => {
      stream.close();
      over();
    });
    return () => stream.close();
  }, [client, over]);
  return up;
}
