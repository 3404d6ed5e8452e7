import { useCallback, useEffect, useRef, useState } from 'react';
import { type OpenLinkOptions, openLink } from './link.ts';

export type UseLinkOptions = Pick<OpenLinkOptions, 'baseUrl' | 'scriptUrl' | 'onEvent'> & {
  /** The clinic's account is linked: send the public token to your server. */
  onSuccess: (public_token: string) => void;
  /** The person left Link, and why. */
  onExit?: (reason: string) => void;
};

export type UseLink = {
  /** Opens Link with a fresh link token. While it is open another call does nothing. */
  open: (token: string) => void;
  isOpen: boolean;
  /** Why Link could not be opened at all: its script was not loaded. */
  error: Error | null;
};

/** Link for React. Link closes with the component that opened it; no callback comes after that. */
export function useLink(options: UseLinkOptions): UseLink {
  const [isOpen, setOpen] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  // The callbacks of the newest render are called, and a new function does not open Link anew.
  const newest = useRef(options);
  useEffect(() => {
    newest.current = options;
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
    const { baseUrl, scriptUrl } = newest.current;
    const leave = () => {
      running.current = null;
      setOpen(false);
    };
    openLink({
      token,
      ...(baseUrl === undefined ? {} : { baseUrl }),
      ...(scriptUrl === undefined ? {} : { scriptUrl }),
      onEvent: (name, details) => newest.current.onEvent?.(name, details),
      signal: controller.signal,
    }).then(
      (end) => {
        if (controller.signal.aborted) return;
        leave();
        if (end.outcome === 'linked') newest.current.onSuccess(end.public_token);
        else newest.current.onExit?.(end.reason);
      },
      (cause: unknown) => {
        if (controller.signal.aborted) return;
        leave();
        setError(cause instanceof Error ? cause : new Error('Link could not be opened.', { cause }));
      },
    );
  }, []);
  return { open, isOpen, error };
}
