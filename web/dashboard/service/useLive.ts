import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { toUrl } from './api.ts';
import { refreshTopic, type Topic, topics } from './queries.ts';
import { session_key } from './session.tsx';

/** Wait before reopening a stream that was refused. */
const reopen_ms = 5_000;
/** A topic is refetched immediately, then at most this often. */
const pause_ms = 1_000;

/** Refetches what the server's live stream reports as changed. Returns whether the stream is connected. */
export function useLive(expire: () => void): boolean {
  const client = useQueryClient();
  const [connected, setConnected] = useState(true);
  useEffect(() => {
    const throttle = openThrottle((topic) => void refreshTopic(client, topic));
    let stream: EventSource;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let missed = false;
    const open = () => {
      stream = new EventSource(toUrl('live.get', {}));
      stream.addEventListener('open', () => {
        setConnected(true);
        // Changes during the interruption were not reported.
        if (missed) for (const topic of topics) throttle.changed(topic);
        missed = false;
      });
      stream.addEventListener('error', () => {
        setConnected(false);
        missed = true;
        // The browser reopens a lost connection itself, but not one that was refused, for example by a proxy.
        if (stream.readyState !== EventSource.CLOSED) return;
        timer = setTimeout(open, reopen_ms);
        void client.invalidateQueries({ queryKey: session_key });
      });
      stream.addEventListener('changed', (event) => throttle.changed(event.data as Topic));
      stream.addEventListener('over', () => {
        stream.close();
        expire();
      });
    };
    open();
    return () => {
      clearTimeout(timer);
      throttle.close();
      stream.close();
    };
  }, [client, expire]);
  return connected;
}

function openThrottle(refresh: (topic: Topic) => void) {
  const paused = new Map<Topic, { changed: boolean; timer: ReturnType<typeof setTimeout> }>();
  const changed = (topic: Topic) => {
    const pause = paused.get(topic);
    if (pause) {
      pause.changed = true;
      return;
    }
    refresh(topic);
    const timer = setTimeout(() => {
      const { changed: again } = paused.get(topic) ?? {};
      paused.delete(topic);
      if (again) changed(topic);
    }, pause_ms);
    paused.set(topic, { changed: false, timer });
  };
  const close = () => {
    for (const { timer } of paused.values()) clearTimeout(timer);
  };
  return { changed, close };
}
