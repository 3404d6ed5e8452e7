import { Button, Divider, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { ApiError, call, setConfirmIdentity } from '../../service/api.ts';
import { passkeys_possible, signWithPasskey } from '../../service/passkeys.ts';
import { useAction, useQuery } from '../../service/queries.ts';
import { session_key, useSession } from '../../service/session.tsx';
import { ErrorAlert } from '../errors.tsx';
import { SecretInput } from './SecretInput.tsx';

type Waiting = { confirmed: Promise<void>; resolve: () => void; reject: (error: ApiError) => void };

/**
 * Asks the operator for the password, a passkey or a sign-in at the identity provider when the server wants a fresh
 * sign-in. Requests that need it at the same time share the dialog; each is sent again afterwards.
 */
export function ConfirmIdentityProvider({ children }: { children: ReactNode }) {
  const waiting = useRef<Waiting>(undefined);
  const [asking, setAsking] = useState(false);
  useEffect(() => {
    setConfirmIdentity(() => {
      waiting.current ??= startWaiting();
      setAsking(true);
      return waiting.current.confirmed;
    });
    return () => setConfirmIdentity(undefined);
  }, []);
  const finish = (outcome: (of: Waiting) => void) => {
    const finished = waiting.current;
    waiting.current = undefined;
    setAsking(false);
    if (finished) outcome(finished);
  };
  const onConfirm = () => finish(({ resolve }) => resolve());
  const onCancel = () =>
    finish(({ reject }) => reject(new ApiError(400, { code: 'canceled', message: 'Nothing was changed.' })));
  return (
    <>
      {children}
      <Modal
        opened={asking}
        onClose={onCancel}
        title="Confirm your identity"
        closeOnClickOutside={false}
        // Above the dialog that needs it.
        zIndex={300}
      >
        <ConfirmForm onConfirm={onConfirm} onCancel={onCancel} />
      </Modal>
    </>
  );
}

function startWaiting(): Waiting {
  let settle: Pick<Waiting, 'resolve' | 'reject'> = { resolve: () => {}, reject: () => {} };
  const confirmed = new Promise<void>((resolve, reject) => {
    settle = { resolve, reject };
  });
  return { confirmed, ...settle };
}

type FormProps = { onConfirm: () => void; onCancel: () => void };

function ConfirmForm(props: FormProps) {
  const { method } = useSession();
  return method === 'single_sign_on' ? <ConfirmAtProvider {...props} /> : <ConfirmLocally {...props} />;
}

function ConfirmLocally({ onConfirm, onCancel }: FormProps) {
  const { operator } = useSession();
  const renew = useAction(async (form: FormData | 'passkey') => {
    if (form === 'passkey') return call('session.renew', {}, { body: await signWithPasskey() });
    const code = form.get('code');
    const body = { password: String(form.get('password')) };
    return call('session.renew', {}, { body: code === null ? body : { ...body, code: String(code) } });
  });
  const onSubmit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    // The dialog can be inside of a form, for React.
    event.stopPropagation();
    renew.mutate(new FormData(event.currentTarget), { onSuccess: onConfirm });
  };
  const with_passkey = operator.passkeys > 0 && passkeys_possible;
  return (
    <form onSubmit={onSubmit}>
      <Stack>
        <Text size="sm">This needs a sign-in within the last 10 minutes. Afterwards it continues by itself.</Text>
        {with_passkey && (
          <>
            <Button onClick={() => renew.mutate('passkey', { onSuccess: onConfirm })}>Use a passkey</Button>
            <Divider label="or" />
          </>
        )}
        <SecretInput name="password" label="Password" autoComplete="current-password" />
        {(operator.totp || operator.passkeys > 0) && (
          <TextInput
            name="code"
            label={operator.totp ? 'Authenticator or recovery code' : 'Recovery code'}
            autoComplete="one-time-code"
            required
          />
        )}
        {renew.error && <ErrorAlert error={renew.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <Button type="submit" variant={with_passkey ? 'default' : 'filled'} loading={renew.isPending}>
            Confirm
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** On which the window that returns from the identity provider reports: an error message, or an empty text. */
export const identity_channel = 'chartwire-identity';

/** In a window of its own, so that this page and what was entered on it stay as they are. */
function ConfirmAtProvider({ onConfirm, onCancel }: FormProps) {
  const client = useQueryClient();
  const { data: ways } = useQuery('sign-in.get', {});
  const confirm = useAction(async () => {
    const opened = window.open('', '_blank', 'popup,width=520,height=680');
    if (!opened) throw failure('The browser blocked the window. Allow pop-up windows for this page, then try again.');
    const { url } = await call('single-sign-on.renew', {});
    opened.location.replace(url);
    const message = await nextReport();
    if (message !== '') throw failure(message);
    // The provider may have changed the role.
    await client.refetchQueries({ queryKey: session_key });
  });
  return (
    <Stack>
      <Text size="sm">
        This needs a sign-in within the last 10 minutes. Sign in again in the window that opens. Afterwards it continues
        by itself.
      </Text>
      {confirm.error && <ErrorAlert error={confirm.error} />}
      {confirm.isPending && (
        <Text size="sm" role="status">
          Waiting for the identity provider…
        </Text>
      )}
      <Group justify="flex-end">
        <Button variant="default" onClick={onCancel}>
          Cancel
        </Button>
        <Button onClick={() => confirm.mutate(undefined, { onSuccess: onConfirm })}>
          {confirm.isPending ? 'Open the window again' : (ways?.single_sign_on ?? 'Single sign-on')}
        </Button>
      </Group>
    </Stack>
  );
}

function failure(message: string): ApiError {
  return new ApiError(400, { code: 'identity_unconfirmed', message });
}

function nextReport(): Promise<string> {
  const channel = new BroadcastChannel(identity_channel);
  return new Promise((resolve) => {
    channel.onmessage = ({ data }: MessageEvent<string>) => {
      channel.close();
      resolve(data);
    };
  });
}
