import { Alert, Anchor, Button, Loader, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { errorAt } from '../parts/errors.tsx';
import { type ApiError, call, type ResponseOf } from '../service/api.ts';
import { useStartSession } from '../service/session.tsx';
import { role_labels } from '../service/types.ts';
import { SignInCard } from './SignInCard.tsx';

/** Where an invited operator chooses a name and a password. The token is in the fragment, which is sent to no server. */
export function Invitation() {
  const [token] = useState(() => window.location.hash.slice(1));
  const [, navigate] = useLocation();
  const startSession = useStartSession();
  const invitation = useQuery<ResponseOf<'invitations.find'>, ApiError>({
    queryKey: ['invitation'],
    queryFn: () => call('invitations.find', {}, { body: { token } }),
    retry: false,
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  const accept = useMutation<ResponseOf<'invitations.accept'>, ApiError, FormData>({
    mutationFn: (form) => {
      const body = { token, name: String(form.get('name')), password: String(form.get('password')) };
      return call('invitations.accept', {}, { body });
    },
    onSuccess: ({ session }) => {
      startSession(session);
      // Replaces the entry with the token in the browser's history.
      navigate('/', { replace: true });
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    accept.mutate(new FormData(event.currentTarget));
  };
  if (invitation.isPending) {
    return (
      <SignInCard title="Invitation">
        <Loader aria-label="Loading" />
      </SignInCard>
    );
  }
  const invalid = invitation.error ?? (accept.error?.status === 410 ? accept.error : null);
  if (invalid) {
    return (
      <SignInCard title="Invitation">
        <Alert color="red" role="alert">
          {invalid.message}
        </Alert>
        <Anchor component={Link} href="/" size="sm">
          Go to sign-in
        </Anchor>
      </SignInCard>
    );
  }
  return (
    <SignInCard title="Invitation">
      <form onSubmit={submit}>
        <Stack>
          {invitation.data && <Offer invitation={invitation.data} />}
          <TextInput
            label="Email"
            type="email"
            autoComplete="username"
            value={invitation.data?.email ?? ''}
            readOnly
            variant="filled"
          />
          <TextInput
            label="Name"
            name="name"
            autoComplete="name"
            required
            maxLength={100}
            error={errorAt(accept.error, 'name')}
          />
          <PasswordInput
            label="Password"
            name="password"
            description="At least 12 characters"
            autoComplete="new-password"
            required
            minLength={12}
            error={errorAt(accept.error, 'password')}
            visibilityToggleButtonProps={{ 'aria-label': 'Show password' }}
          />
          {accept.error && accept.error.field === undefined && (
            <Alert color="red" role="alert">
              {accept.error.message}
            </Alert>
          )}
          <Button type="submit" loading={accept.isPending}>
            Create account
          </Button>
        </Stack>
      </form>
    </SignInCard>
  );
}

/** Who invited, to which role, and what follows. */
function Offer({ invitation: { inviter_name, role, second_factor } }: { invitation: ResponseOf<'invitations.find'> }) {
  return (
    <Text size="sm">
      <b>{inviter_name}</b> invited you to this dashboard
      {role === null ? ' for selected clients' : ` with the role ${role_labels[role]}`}. Choose your name and a
      password.
      {second_factor && ' Then you set up a second factor: a passkey or an authenticator app.'}
    </Text>
  );
}
