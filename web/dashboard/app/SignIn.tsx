import { Alert, Button, PasswordInput, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { type ApiError, call } from '../service/api.ts';
import { useStartSession } from '../service/session.tsx';
import type { Session } from '../service/types.ts';
import { SignInCard } from './SignInCard.tsx';

/** `expired`: the session ended on its own. After signing in, the same page is shown again. */
export function SignIn({ expired }: { expired: boolean }) {
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
    <SignInCard title="Sign in">
      <form onSubmit={submit}>
        <Stack>
          {expired && (
            <Alert color="gray" role="status">
              Your session has expired. Sign in to continue.
            </Alert>
          )}
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
    </SignInCard>
  );
}
