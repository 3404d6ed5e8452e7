import { Button, Divider, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { createContext, type FormEvent, type ReactNode, use, useCallback, useRef, useState } from 'react';
import { ApiError, call } from '../service/api.ts';
import { passkeys_possible, signWithPasskey } from '../service/passkeys.ts';
import { useAction } from '../service/queries.ts';
import { useSession } from '../service/session.tsx';
import { ErrorAlert } from './errors.tsx';
import { SecretInput } from './SecretInput.tsx';

type Confirmed = <Result>(action: () => Promise<Result>) => Promise<Result>;

const ConfirmedContext = createContext<Confirmed>(() => {
  throw new Error('useConfirmed needs a ConfirmIdentityProvider above it.');
});

/**
 * Runs an action that needs a recent sign-in. If the last one is too old, the operator is asked for the password or a
 * passkey, and the action runs again.
 */
export function useConfirmed(): Confirmed {
  return use(ConfirmedContext);
}

type Waiting = { resolve: () => void; reject: (error: ApiError) => void };

export function ConfirmIdentityProvider({ children }: { children: ReactNode }) {
  const waiting = useRef<Waiting>(undefined);
  const [asking, setAsking] = useState(false);
  const confirmed = useCallback<Confirmed>(async (action) => {
    try {
      return await action();
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'operator_sign_in_again') throw error;
    }
    await new Promise<void>((resolve, reject) => {
      waiting.current = { resolve, reject };
      setAsking(true);
    });
    return action();
  }, []);
  const onConfirm = () => {
    setAsking(false);
    waiting.current?.resolve();
  };
  const onCancel = () => {
    setAsking(false);
    waiting.current?.reject(new ApiError(400, { code: 'canceled', message: 'Nothing was changed.' }));
  };
  return (
    <ConfirmedContext value={confirmed}>
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
    </ConfirmedContext>
  );
}

function ConfirmForm({ onConfirm, onCancel }: { onConfirm: () => void; onCancel: () => void }) {
  const { operator } = useSession();
  const renew = useAction(async (form: FormData | 'passkey') => {
    if (form === 'passkey') return call('session.renew', {}, { body: await signWithPasskey() });
    const code = form.get('code');
    const body = { password: String(form.get('password')) };
    return call('session.renew', {}, { body: code === null ? body : { ...body, code: String(code) } });
  });
  const onSubmit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    renew.mutate(new FormData(event.currentTarget), { onSuccess: onConfirm });
  };
  const with_passkey = operator.passkeys > 0 && passkeys_possible;
  return (
    <form onSubmit={onSubmit}>
      <Stack>
        <Text size="sm">Your last sign-in was more than 10 minutes ago.</Text>
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
