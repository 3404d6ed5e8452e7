import { Alert, Anchor, Button, Divider, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, useEffect, useState } from 'react';
import { SecretInput } from '../parts/forms/SecretInput.tsx';
import { Icon } from '../parts/Icon.tsx';
import { type ApiError, type Body, call } from '../service/api.ts';
import { passkeys_possible, signWithPasskey, suggestPasskeys } from '../service/passkeys.ts';
import { useStartSession } from '../service/session.tsx';
import type { Session } from '../service/types.ts';
import { SignInCard } from './SignInCard.tsx';
import { SingleSignOn } from './SingleSignOn.tsx';

/** `expired`: the session ended on its own. After signing in, the same page is shown again. */
export function SignIn({ expired }: { expired: boolean }) {
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
    <SignInCard title="Sign in">
      {expired && (
        <Alert color="gray" role="status">
          Your session has expired. Sign in to continue.
        </Alert>
      )}
      {label !== null && <SingleSignOn label={label} error={error} only={!passwords && !recovering} />}
      {label !== null && passwords && <Divider label="or" />}
      {!ways.isPending && (passwords || recovering) && <LocalSignIn passkeys={passwords && passkeys_possible} />}
      {!passwords && !recovering && (
        <Anchor component="button" type="button" size="sm" onClick={() => setRecovering(true)}>
          Use a recovery password
        </Anchor>
      )}
    </SignInCard>
  );
}

type Input = FormData | 'passkey' | Body<'session.passkey'>;

/** With a password, and a code if it is asked for, or with a passkey. */
function LocalSignIn({ passkeys }: { passkeys: boolean }) {
  const startSession = useStartSession();
  // Once shown, the code field stays, even after a wrong code.
  const [requested, setRequested] = useState<'nothing' | SecondFactor>('nothing');
  const signIn = useMutation<{ session: Session }, ApiError, Input>({
    mutationFn: async (input) => {
      if (input === 'passkey') return call('session.passkey', {}, { body: await signWithPasskey() });
      if (!(input instanceof FormData)) return call('session.passkey', {}, { body: input });
      const code = input.get('code');
      const body = { email: String(input.get('email')), password: String(input.get('password')) };
      return call('session.create', {}, { body: code === null ? body : { ...body, code: String(code) } });
    },
    onSuccess: ({ session }) => startSession(session),
    onError: ({ code }) => {
      if (code === 'operator_code_required') setRequested((before) => (before === 'nothing' ? 'code' : before));
      if (code !== 'operator_passkey_required') return;
      setRequested(passkeys ? 'passkey' : 'only_recovery_code');
      // The password was right: continues with the passkey.
      if (passkeys) signIn.mutate('passkey');
    },
  });
  const { mutate } = signIn;
  useEffect(() => {
    if (passkeys) void suggestPasskeys().then((passkey) => passkey && mutate(passkey));
  }, [passkeys, mutate]);
  const askFor = (code: SecondFactor) => {
    setRequested(code);
    // The error belongs to the other kind of code.
    signIn.reset();
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    signIn.mutate(new FormData(event.currentTarget));
  };
  const with_passkey = signIn.isPending && signIn.variables === 'passkey';
  const confirming = requested === 'passkey';
  return (
    <>
      {confirming && (
        <Stack>
          <Text size="sm">Your password is correct. Confirm with your passkey.</Text>
          {signIn.error && <SignInError error={signIn.error} />}
          <Button leftSection={<Icon name="passkey" />} loading={with_passkey} onClick={() => signIn.mutate('passkey')}>
            Use your passkey
          </Button>
          <Anchor component="button" type="button" size="sm" onClick={() => askFor('only_recovery_code')}>
            Use a recovery code
          </Anchor>
        </Stack>
      )}
      {/* Hidden, so that the password is still there for a recovery code. */}
      <form onSubmit={submit} hidden={confirming}>
        <Stack>
          <TextInput label="Email" name="email" type="email" autoComplete="username webauthn" required />
          <SecretInput label="Password" name="password" autoComplete="current-password" />
          {requested !== 'nothing' && !confirming && (
            <CodeInput key={requested} requested={requested} askFor={askFor} />
          )}
          {signIn.error && signIn.error.code !== 'operator_code_required' && <SignInError error={signIn.error} />}
          <Button type="submit" loading={signIn.isPending && !with_passkey}>
            Sign in
          </Button>
        </Stack>
      </form>
      {passkeys && !confirming && (
        <>
          <Divider label="or" />
          <Button
            variant="default"
            leftSection={<Icon name="passkey" />}
            loading={with_passkey}
            onClick={() => signIn.mutate('passkey')}
          >
            Sign in with a passkey
          </Button>
        </>
      )}
    </>
  );
}

function SignInError({ error }: { error: ApiError }) {
  return (
    <Alert color={error.code === 'operator_passkey_required' ? 'gray' : 'red'} role="alert">
      {error.message}
    </Alert>
  );
}

/** `passkey` and `only_recovery_code`: the operator has passkeys but no authenticator app. */
type SecondFactor = 'code' | 'recovery_code' | 'passkey' | 'only_recovery_code';

function CodeInput({ requested, askFor }: { requested: SecondFactor; askFor: (code: SecondFactor) => void }) {
  const app = requested === 'code';
  return (
    <Stack gap={4} align="flex-start">
      <TextInput
        w="100%"
        label={app ? 'Authenticator code' : 'Recovery code'}
        name="code"
        {...(app ? { inputMode: 'numeric', autoComplete: 'one-time-code' } : { autoComplete: 'off' })}
        required
        ref={focus}
      />
      {requested !== 'only_recovery_code' && (
        <Anchor component="button" type="button" size="sm" onClick={() => askFor(app ? 'recovery_code' : 'code')}>
          {app ? 'Use a recovery code' : 'Use an authenticator code'}
        </Anchor>
      )}
    </Stack>
  );
}

function focus(input: HTMLInputElement | null): void {
  input?.focus();
}
