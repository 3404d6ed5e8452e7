import { Group, Paper, Text, Title } from '@mantine/core';
import { FormDialog } from '../../parts/FormDialog.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { Copyable } from '../../parts/values.tsx';
import { call } from '../../service/api.ts';
import { useSession } from '../../service/session.tsx';
import type { ClientSettings } from '../../service/types.ts';

/** A client's secrets: at most two, so that one can be replaced without downtime. */
export function Secrets({ client: { client_id, keys } }: { client: ClientSettings }) {
  const { may } = useSession();
  return (
    <Paper withBorder p="md">
      <Group justify="space-between">
        <Title order={3} size="h4">
          Secrets
        </Title>
        {may('owner') && (
          <FormDialog
            opener="Create secret"
            title="Create secret"
            submit="Create"
            action={() => call('clients.keys.create', { client_id })}
            done={({ client_secret }) => (
              <>
                <Text size="sm">Copy this secret now. It is not shown again.</Text>
                <Copyable label="client secret" value={client_secret} />
              </>
            )}
          >
            <Text size="sm">
              {keys.length < 2
                ? 'The current secret stays valid until you revoke it.'
                : 'Two secrets are active. The older one is revoked immediately.'}
            </Text>
          </FormDialog>
        )}
      </Group>
      {keys.length === 0 && <Text size="sm">No active secrets. Create one so that the application can sign in.</Text>}
      {keys.map((key) => (
        <Group key={key.id} justify="space-between" mt="xs">
          <Text size="sm">
            Created <Timestamp at={key.created_at} />
          </Text>
          {may('owner') && (
            <FormDialog
              opener="Revoke"
              title="Revoke secret"
              submit="Revoke"
              danger
              action={() => call('clients.keys.delete', { client_id, key_id: key.id })}
            >
              <Text size="sm">Requests with this secret are rejected immediately.</Text>
            </FormDialog>
          )}
        </Group>
      ))}
    </Paper>
  );
}
