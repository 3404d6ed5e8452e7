import { Group, Stack, Text, TextInput } from '@mantine/core';
import { FormDialog } from '../../../parts/forms/FormDialog.tsx';
import { QueryResult } from '../../../parts/QueryResult.tsx';
import { Timestamp } from '../../../parts/Timestamp.tsx';
import { call } from '../../../service/api.ts';
import { passkeys_possible, registerPasskey } from '../../../service/passkeys.ts';
import { useQuery } from '../../../service/queries.ts';
import { describeBrowser } from './describeBrowser.ts';

/** `onCodes` gets the recovery codes, which are created together with the first second factor. */
export function Passkeys({ onCodes }: { onCodes: (codes: string[]) => void }) {
  const query = useQuery('me.passkeys.list', {});
  return (
    <Stack>
      <Group justify="space-between" wrap="nowrap">
        <Text size="sm">
          Sign in with your fingerprint, face, PIN or security key instead of a password and a code.
        </Text>
        {passkeys_possible && <AddPasskey onCodes={onCodes} />}
      </Group>
      {!passkeys_possible && (
        <Text size="sm" c="dimmed">
          Passkeys need a browser that supports them and an address with a host name, not an IP address.
        </Text>
      )}
      <QueryResult query={query} rows={1}>
        {({ passkeys }) => (
          <>
            {passkeys.length === 0 && (
              <Text size="sm" c="dimmed">
                {passkeys_possible ? 'No passkeys yet. Add one for this device.' : 'No passkeys.'}
              </Text>
            )}
            {passkeys.map(({ id, name, created_at, used_at }) => (
              <Group key={id} justify="space-between" wrap="nowrap" className="entry">
                <div>
                  <Text size="sm" fw={500} className="breakable">
                    {name}
                  </Text>
                  <Text size="xs" c="dimmed">
                    Added <Timestamp at={created_at} /> · {used_at ? 'Last used ' : 'Not used yet'}
                    {used_at && <Timestamp at={used_at} />}
                  </Text>
                </div>
                <DeletePasskey id={id} name={name} />
              </Group>
            ))}
          </>
        )}
      </QueryResult>
    </Stack>
  );
}

function AddPasskey({ onCodes }: { onCodes: (codes: string[]) => void }) {
  return (
    <FormDialog
      opener="Add passkey"
      title="Add passkey"
      submit="Continue"
      look={{ flex: 'none' }}
      action={async (form) => {
        const { recovery_codes } = await registerPasskey(String(form.get('name')));
        onCodes(recovery_codes);
      }}
    >
      <TextInput
        name="name"
        label="Name"
        description="Helps you recognize it in this list"
        defaultValue={describeBrowser(navigator.userAgent)}
        required
        maxLength={100}
        data-autofocus
      />
      <Text size="sm">Your browser then asks where to store the passkey. Your other sessions are signed out.</Text>
    </FormDialog>
  );
}

function DeletePasskey({ id, name }: { id: string; name: string }) {
  return (
    <FormDialog
      opener="Delete"
      title={`Delete passkey “${name}”`}
      submit="Delete"
      danger
      look={{ flex: 'none' }}
      action={() => call('me.passkeys.delete', { id })}
    >
      <Text size="sm">You can no longer sign in with it. Your other sessions are signed out.</Text>
    </FormDialog>
  );
}
