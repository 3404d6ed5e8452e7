import { useCallback, useEffect, useRef, useState } from 'react';
import { type OpenLinkOptions, openLink } from './link.ts';

export type UseLinkOptions = Pick<OpenLinkOptions, 'baseUrl' | 'scriptUrl' | 'onEvent'> & {
  /** The account is linked. Send the public token to your server. */
  onSuccess: (public_token: string) => void;
  /** Link closed without success. */
  onExit?: (reason: string) => void;
};

export type UseLink = {
  /** Opens Link with a new link token. Does nothing while Link is open. */
  open: (token: string) => void;
  isOpen: boolean;
  /** Link's script could not be loaded. */
  error: Error | null;
};

/** Link for React. Link closes when the component unmounts; no callback is called after that. */
export function useLink(options: UseLinkOptions): UseLink {
  const [isOpen, setOpen] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  // Always calls the callbacks of the latest render, without making `open` depend on them.
  const latest = useRef(options);
  useEffect(() => {
    latest.current = options;
  });
  const running = useRef<AbortController | null>(null);
  useEffect(
    () => () => {
      running.current?.abort();
      running.current = null;
    },
    [],
  );
  const open = useCallback((token: string) => {
    if (running.current) return;
    const controller = new AbortController();
    running.current = controller;
    setOpen(true);
    setError(null);
    const { baseUrl, scriptUrl } = latest.current;
    const leave = () => {
      running.current = null;
      setOpen(false);
    };
    openLink({
      token,
      ...(baseUrl === undefined ? {} : { baseUrl }),
      ...(scriptUrl === undefined ? {} : { scriptUrl }),
      onEvent: (name, details) => latest.current.onEvent?.(name, details),
      signal: controller.signal,
    }).then(
      (end) => {
        if (controller.signal.aborted) return;
        leave();
        if (end.outcome === 'linked') latest.current.onSuccess(end.public_token);
        else latest.current.onExit?.(end.reason);
      },
      (cause: unknown) => {
        if (controller.signal.aborted) return;
        leave();
        setError(cause instanceof Error ? cause : new Error('Could not open Link.', { cause }));
      },
    );
  }, []);
  return { open, isOpen, error };
}
