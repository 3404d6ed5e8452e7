import { Alert, Loader, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { identity_channel } from '../parts/forms/ConfirmIdentity.tsx';
import { call } from '../service/api.ts';
import { SignInCard } from './SignInCard.tsx';

/** Where the window returns to in which an operator has signed in again. It tells the dashboard's window, and closes. */
export function Confirmed() {
  // Read once: the error is only sent with the first response.
  const { data, error: failed } = useQuery({
    queryKey: ['sign-in'],
    queryFn: () => call('sign-in.get', {}, { background: true }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  });
  const message = failed?.message ?? data?.error;
  useEffect(() => {
    if (message === undefined) return;
    const channel = new BroadcastChannel(identity_channel);
    channel.postMessage(message ?? '');
    channel.close();
    if (message === null) window.close();
  }, [message]);
  return (
    <SignInCard title="Confirm your identity">
      {message === undefined && <Loader aria-label="Loading" />}
      {message === null && <Text size="sm">Confirmed. You can close this window.</Text>}
      {message && (
        <Alert color="red" role="alert">
          {message}
        </Alert>
      )}
    </SignInCard>
  );
}
