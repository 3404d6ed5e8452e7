import { Alert, Button, Center, Paper, PasswordInput, Stack, TextInput, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useEffect } from 'react';
import type { Session } from '../../../src/model/dashboard/session.ts';
import { ask, type Problem } from '../service/ask.ts';
import { useBegin } from '../service/session.tsx';

export function SignIn() {
  const begin = useBegin();
  const signIn = useMutation<{ session: Session }, Problem, { email: string; password: string }>({
    mutationFn: (body) => ask('session', { method: 'POST', body }),
    onSuccess: ({ session }) => begin(session),
  });
  useEffect(() => {
    document.title = 'Sign in · Chartwire';
  }, []);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const typed = new FormData(event.currentTarget);
    signIn.mutate({ email: String(typed.get('email')), password: String(typed.get('password')) });
  };
  return (
    <Center component="main" mih="100vh" p="md">
      <Paper withBorder shadow="sm" p="xl" w={380} maw="100%">
        <form onSubmit={submit}>
          <Stack>
            <Title order={1} size="h2">
              Chartwire
            </Title>
            <TextInput label="E-mail" name="email" type="email" autoComplete="username" required />
            <PasswordInput
              label="Password"
              name="password"
              autoComplete="current-password"
              required
              visibilityToggleButtonProps={{ 'aria-label': 'Show the password' }}
            />
            {signIn.error && (
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
