import { Alert, Button, Center, Paper, PasswordInput, Stack, TextInput, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useEffect, useState } from 'react';
import type { Session } from '../../../src/model/dashboard/session.ts';
import { ask, type Problem } from '../service/ask.ts';
import { useBegin } from '../service/session.tsx';

/** `ended`: the session of who was here is over, and the page comes back where it was. */
export function SignIn({ ended }: { ended: boolean }) {
  const begin = useBegin();
  const signIn = useMutation<{ session: Session }, Problem, Record<string, FormDataEntryValue>>({
    mutationFn: (body) => ask('session', { method: 'POST', body }),
    onSuccess: ({ session }) => begin(session),
  });
  useEffect(() => {
    document.title = 'Sign in · Chartwire';
  }, []);
  // Once a code was asked for its field stays, also after a wrong one.
  const [asked, setAsked] = useState(false);
  if (!asked && signIn.error?.code === 'operator_code_required') setAsked(true);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    signIn.mutate(Object.fromEntries(new FormData(event.currentTarget)));
  };
  return (
    <Center component="main" mih="100vh" p="md">
      <Paper withBorder shadow="sm" p="xl" w={380} maw="100%">
        <form onSubmit={submit}>
          <Stack>
            <Title order={1} size="h2">
              Chartwire
            </Title>
            {ended && (
              <Alert color="gray" role="status">
                Your session has ended. Sign in to go on where you were.
              </Alert>
            )}
            <TextInput label="E-mail" name="email" type="email" autoComplete="username" required />
            <PasswordInput
              label="Password"
              name="password"
              autoComplete="current-password"
              required
              visibilityToggleButtonProps={{ 'aria-label': 'Show the password' }}
            />
            {asked && (
              <TextInput
                label="Code of your authenticator app"
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
      </Paper>
    </Center>
  );
}
