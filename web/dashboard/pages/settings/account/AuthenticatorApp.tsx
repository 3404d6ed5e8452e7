import { Button, Group, Stack, Text, TextInput } from '@mantine/core';
import type { FormEvent } from 'react';
import { renderSVG } from 'uqr';
import { useConfirmed } from '../../../parts/ConfirmIdentity.tsx';
import { ErrorAlert } from '../../../parts/errors.tsx';
import { FormDialog } from '../../../parts/FormDialog.tsx';
import { Copyable } from '../../../parts/values.tsx';
import { call } from '../../../service/api.ts';
import { useAction } from '../../../service/queries.ts';
import { useSession } from '../../../service/session.tsx';

/** `onCodes` gets the recovery codes, which are created together with the first second factor. */
export function AuthenticatorApp({ onCodes }: { onCodes: (codes: string[]) => void }) {
  const { operator } = useSession();
  return operator.totp ? <TurnOff /> : <SetUp onCodes={onCodes} />;
}

function TurnOff() {
  const confirmed = useConfirmed();
  return (
    <Group justify="space-between" wrap="nowrap">
      <Text size="sm">On. Signing in with your password requires a code.</Text>
      <FormDialog
        opener="Turn off"
        title="Turn off authenticator app"
        submit="Turn off"
        danger
        look={{ flex: 'none' }}
        action={() => confirmed(() => call('me.totp.off', {}))}
      >
        <Text size="sm">Codes from your app will no longer be accepted. Your other sessions are signed out.</Text>
      </FormDialog>
    </Group>
  );
}

function SetUp({ onCodes }: { onCodes: (codes: string[]) => void }) {
  const confirmed = useConfirmed();
  const setup = useAction<void, { secret: string; uri: string }>(() => confirmed(() => call('me.totp.offer', {})));
  const secret = setup.data?.secret ?? '';
  const turnOn = useAction(async (form: FormData) => {
    const body = { secret, code: String(form.get('code')) };
    onCodes((await confirmed(() => call('me.totp.on', {}, { body }))).recovery_codes);
  });
  const onSubmit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    turnOn.mutate(new FormData(event.currentTarget));
  };
  if (!setup.data) {
    return (
      <Stack gap="xs">
        <Group justify="space-between" wrap="nowrap">
          <Text size="sm">A code from your phone, in addition to your password.</Text>
          <Button
            size="compact-sm"
            variant="light"
            flex="none"
            loading={setup.isPending}
            onClick={() => setup.mutate()}
          >
            Set up
          </Button>
        </Group>
        {setup.error && <ErrorAlert error={setup.error} />}
      </Stack>
    );
  }
  return (
    <form onSubmit={onSubmit}>
      <Stack align="flex-start">
        <Text size="sm">Scan this QR code with your authenticator app, or enter the key.</Text>
        <img className="qr-code" alt="QR code for the key" src={qrCode(setup.data.uri)} />
        <Copyable label="key" value={secret} />
        <TextInput name="code" label="Authenticator code" inputMode="numeric" autoComplete="one-time-code" required />
        {turnOn.error && <ErrorAlert error={turnOn.error} />}
        <Button type="submit" loading={turnOn.isPending}>
          Turn on
        </Button>
      </Stack>
    </form>
  );
}

function qrCode(uri: string): string {
  return `data:image/svg+xml;base64,${btoa(renderSVG(uri, { border: 2 }))}`;
}
