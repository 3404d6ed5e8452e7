import { Button, Group, Stack, Text, TextInput } from '@mantine/core';
import type { FormEvent } from 'react';
import { renderSVG } from 'uqr';
import { ErrorAlert } from '../../../parts/errors.tsx';
import { FormDialog } from '../../../parts/forms/FormDialog.tsx';
import { Copyable } from '../../../parts/values.tsx';
import { call } from '../../../service/api.ts';
import { useAction } from '../../../service/queries.ts';
import { useSession } from '../../../service/session.tsx';

/** `onCodes` gets the recovery codes, which are created together with the first second factor. */
export function AuthenticatorApp({ onCodes }: { onCodes: (codes: string[]) => void }) {
  const { operator } = useSession();
  // The server generates the secret and keeps it until it is confirmed.
  const setup = useAction<void, { secret: string; uri: string }>(() => call('me.totp.offer', {}));
  const done = (codes: string[]) => {
    setup.reset();
    onCodes(codes);
  };
  if (setup.data) return <SetUp offer={setup.data} replacing={operator.totp} onDone={done} />;
  return (
    <Stack gap="xs">
      <Group justify="space-between" wrap="nowrap">
        <Text size="sm">
          {operator.totp
            ? 'On. Signing in with your password requires a code.'
            : 'A code from your phone, in addition to your password.'}
        </Text>
        <Group gap="xs" wrap="nowrap">
          <Button
            size="compact-sm"
            variant={operator.totp ? 'default' : 'light'}
            flex="none"
            loading={setup.isPending}
            onClick={() => setup.mutate()}
          >
            {operator.totp ? 'Replace' : 'Set up'}
          </Button>
          {operator.totp && <TurnOff />}
        </Group>
      </Group>
      {setup.error && <ErrorAlert error={setup.error} />}
    </Stack>
  );
}

function TurnOff() {
  return (
    <FormDialog
      opener="Turn off"
      title="Turn off authenticator app"
      submit="Turn off"
      danger
      look={{ flex: 'none' }}
      action={(form) => call('me.totp.off', {}, { body: { current_code: String(form.get('current_code')) } })}
    >
      <Text size="sm">Codes from your app will no longer be accepted. Your other sessions are signed out.</Text>
      <CurrentCode />
    </FormDialog>
  );
}

function CurrentCode() {
  return (
    <TextInput
      name="current_code"
      label="Current authenticator or recovery code"
      autoComplete="one-time-code"
      required
      w="100%"
    />
  );
}

type SetUpProps = { offer: { secret: string; uri: string }; replacing: boolean; onDone: (codes: string[]) => void };

function SetUp({ offer, replacing, onDone }: SetUpProps) {
  const turnOn = useAction(async (form: FormData) => {
    const body = { code: String(form.get('code')) };
    const current = replacing ? { current_code: String(form.get('current_code')) } : {};
    onDone((await call('me.totp.on', {}, { body: { ...body, ...current } })).recovery_codes);
  });
  const onSubmit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    turnOn.mutate(new FormData(event.currentTarget));
  };
  return (
    <form onSubmit={onSubmit}>
      <Stack align="flex-start">
        <Text size="sm">Scan this QR code with your authenticator app, or enter the key.</Text>
        <img className="qr-code" alt="QR code for the key" src={qrCode(offer.uri)} />
        <Copyable label="key" value={offer.secret} />
        <TextInput
          name="code"
          label={replacing ? 'Code of the new app' : 'Authenticator code'}
          inputMode="numeric"
          autoComplete="one-time-code"
          required
          w="100%"
        />
        {replacing && <CurrentCode />}
        {turnOn.error && <ErrorAlert error={turnOn.error} />}
        <Button type="submit" loading={turnOn.isPending}>
          {replacing ? 'Replace' : 'Turn on'}
        </Button>
      </Stack>
    </form>
  );
}

function qrCode(uri: string): string {
  return `data:image/svg+xml;base64,${btoa(renderSVG(uri, { border: 2 }))}`;
}
