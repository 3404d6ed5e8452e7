import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { session_key } from './session.tsx';
import { refresh, type Topic, topics } from './useService.ts';

/** How long a refused stream is let be. */
const refused_ms = 5_000;

/** Keeps what is shown fresh while the page is open. Gives whether the stream is up. */
export function useLive(over: () => void): boolean {
  const client = useQueryClient();
  const [up, setUp] = useState(true);
  useEffect(() => {
    const pace = openPace((topic) => void refresh(client, topic));
    let stream: EventSource;
    let again: ReturnType<typeof setTimeout> | undefined;
    let missed = false;
    const open = () => {
      stream = new EventSource('/dashboard/api/live');
      stream.addEventListener('open', () => {
        setUp(true);
        // What changed while the stream was down was told to nobody.
        if (missed) for (const topic of topics) pace.changed(topic);
        missed = false;
      });
      stream.addEventListener('error', () => {
        setUp(false);
        missed = true;
        // A cut stream is opened anew by the browser; one that was refused, by a proxy say, is not.
        if (stream.readyState !== EventSource.CLOSED) return;
        again = setTimeout(open, refused_ms);
        void client.invalidateQueries({ queryKey: session_key });
      });
      // The service names no topic but these.
      stream.addEventListener('changed', (event) => pace.changed(event.data as Topic));
      stream.addEventListener('over', () => {
        stream.close();
        over();
      });
    };
    open();
    return () => {
      clearTimeout(again);
      pace.end();
      stream.close();
    };
  }, [client, over]);
  return up;
}

/** A busy service tells of changes several times a second; what is shown is fetched anew at once, then once in so long. */
const pause_ms = 1_000;

function openPace(refreshed: (topic: Topic) => void) {
  const resting = new Map<Topic, { again: boolean; timer: ReturnType<typeof setTimeout> }>();
  const changed = (topic: Topic) => {
    const rest = resting.get(topic);
    if (rest) {
      rest.again = true;
      return;
    }
    refreshed(topic);
    const timer = setTimeout(() => {
      const { again } = resting.get(topic) ?? {};
      resting.delete(topic);
      if (again) changed(topic);
    }, pause_ms);
    resting.set(topic, { again: false, timer });
  };
  const end = () => {
    for (const { timer } of resting.values()) clearTimeout(timer);
  };
  return { changed, end };
}
