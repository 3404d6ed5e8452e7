import { Button, Stack, Text, TextInput } from '@mantine/core';
import type { FormEvent } from 'react';
import { renderSVG } from 'uqr';
import { ErrorAlert } from '../../../parts/errors.tsx';
import { FormDialog } from '../../../parts/FormDialog.tsx';
import { Section } from '../../../parts/layout.tsx';
import { Copyable } from '../../../parts/values.tsx';
import { call } from '../../../service/api.ts';
import { useAction } from '../../../service/queries.ts';
import { useRefreshSession, useSession } from '../../../service/session.tsx';
import { PasswordForm, Secret } from './PasswordForm.tsx';

/** The operator's own password and two-factor authentication. */
export function MyAccount() {
  const { operator } = useSession();
  return (
    <Stack maw={560}>
      <Section title="Password">
        <PasswordForm />
      </Section>
      <Section title="Two-factor authentication">{operator.totp ? <TurnOff /> : <SetUp />}</Section>
    </Stack>
  );
}

function TurnOff() {
  const refreshSession = useRefreshSession();
  return (
    <Stack align="flex-start">
      <Text size="sm">On. Signing in requires a code from your authenticator app.</Text>
      <FormDialog
        opener="Turn off"
        title="Turn off two-factor authentication"
        submit="Turn off"
        danger
        action={async (form) => {
          await call('me.second-factor.off', {}, { body: { password: String(form.get('password')) } });
          await refreshSession();
        }}
      >
        <Secret name="password" label="Password" autoComplete="current-password" />
      </FormDialog>
    </Stack>
  );
}

function SetUp() {
  const refreshSession = useRefreshSession();
  const setup = useAction<void, { secret: string; uri: string }>(() => call('me.second-factor.offer', {}));
  const secret = setup.data?.secret ?? '';
  const turnOn = useAction(async (form: FormData) => {
    const body = { secret, code: String(form.get('code')), password: String(form.get('password')) };
    await call('me.second-factor.on', {}, { body });
    await refreshSession();
  });
  const onSubmit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    turnOn.mutate(new FormData(event.currentTarget));
  };
  return (
    <Stack align="flex-start">
      <Text size="sm">Off. Turn it on to require a code from an authenticator app when signing in.</Text>
      {setup.data ? (
        <form onSubmit={onSubmit}>
          <Stack align="flex-start">
            <Text size="sm">Scan this QR code with your authenticator app, or enter the key.</Text>
            <img className="qr-code" alt="QR code of the key" src={qrCode(setup.data.uri)} />
            <Copyable label="key" value={secret} />
            <TextInput
              name="code"
              label="Authenticator code"
              inputMode="numeric"
              autoComplete="one-time-code"
              required
            />
            <Secret name="password" label="Password" autoComplete="current-password" />
            {turnOn.error && <ErrorAlert error={turnOn.error} />}
            <Button type="submit" loading={turnOn.isPending}>
              Turn on
            </Button>
          </Stack>
        </form>
      ) : (
        <Button variant="light" loading={setup.isPending} onClick={() => setup.mutate()}>
          Set up
        </Button>
      )}
      {setup.error && <ErrorAlert error={setup.error} />}
    </Stack>
  );
}

function qrCode(uri: string): string {
  return `data:image/svg+xml;base64,${btoa(renderSVG(uri, { border: 2 }))}`;
}
