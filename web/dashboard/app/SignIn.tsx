import { Alert, Anchor, Button, Center, Divider, Paper, PasswordInput, Stack, TextInput, Title } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, useEffect, useState } from 'react';
import { type ApiError, call } from '../service/api.ts';
import { useStartSession } from '../service/session.tsx';
import type { Session } from '../service/types.ts';
import { SingleSignOn } from './SingleSignOn.tsx';

/** `expired`: the session ended on its own. After signing in, the same page is shown again. */
export function SignIn({ expired }: { expired: boolean }) {
  useEffect(() => {
    document.title = 'Sign in · Chartwire';
  }, []);
  // Read once: the error of the last single sign-on is only sent with the first response.
  const ways = useQuery({
    queryKey: ['sign-in'],
    queryFn: () => call('sign-in.get', {}, { background: true }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  });
  const [recovering, setRecovering] = useState(false);
  const { single_sign_on: label = null, passwords = true, error = null } = ways.data ?? {};
  return (
    <Center component="main" mih="100vh" p="md">
      <Paper withBorder shadow="sm" p="xl" w={380} maw="100%">
        <Stack>
          <Title order={1} size="h2">
            Chartwire
          </Title>
          {expired && (
            <Alert color="gray" role="status">
              Your session has expired. Sign in to continue.
            </Alert>
          )}
          {label !== null && <SingleSignOn label={label} error={error} only={!passwords && !recovering} />}
          {label !== null && passwords && <Divider label="or" />}
          {!ways.isPending && (passwords || recovering) && <PasswordForm />}
          {!passwords && !recovering && (
            <Anchor component="button" type="button" size="sm" onClick={() => setRecovering(true)}>
              Use a recovery password
            </Anchor>
          )}
        </Stack>
      </Paper>
    </Center>
  );
}

function PasswordForm() {
  const startSession = useStartSession();
  const signIn = useMutation<{ session: Session }, ApiError, FormData>({
    mutationFn: (form) => {
      const code = form.get('code');
      const body = { email: String(form.get('email')), password: String(form.get('password')) };
      return call('session.create', {}, { body: code === null ? body : { ...body, code: String(code) } });
    },
    onSuccess: ({ session }) => startSession(session),
  });
  // Once shown, the code field stays, even after a wrong code.
  const [needs_code, setNeedsCode] = useState(false);
  if (!needs_code && signIn.error?.code === 'operator_code_required') setNeedsCode(true);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    signIn.mutate(new FormData(event.currentTarget));
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput label="Email" name="email" type="email" autoComplete="username" required />
        <PasswordInput
          label="Password"
          name="password"
          autoComplete="current-password"
          required
          visibilityToggleButtonProps={{ 'aria-label': 'Show password' }}
        />
        {needs_code && (
          <TextInput
            label="Authenticator code"
            name="code"
            inputMode="numeric"
            autoComplete="one-time-code"
            required
            ref={(input) => input?.focus()}
          />
        )}
        {signIn.error && signIn.error.code !== 'operator_code_required' && (
          <Alert color="red" role="alert">
            {signIn.error.message}
          </Alert>
        )}
        <Button type="submit" loading={signIn.isPending}>
          Sign in
        </Button>
      </Stack>
    </form>
  );
}
