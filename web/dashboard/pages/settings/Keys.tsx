import { Group, Paper, Text, Title } from '@mantine/core';
import type { ClientSettings } from '../../../../src/model/dashboard/settings.ts';
import { Copyable } from '../../parts/Copyable.tsx';
import { Dialog } from '../../parts/Dialog.tsx';
import { Moment } from '../../parts/Moment.tsx';
import { ask } from '../../service/ask.ts';
import { useSession } from '../../service/session.tsx';

/** The secrets of an application: two at most, so that one can be replaced without a pause. */
export function Keys({ client }: { client: ClientSettings }) {
  const { may } = useSession();
  const path = `clients/${client.client_id}/keys`;
  return (
    <Paper withBorder p="md">
      <Group justify="space-between">
        <Title order={3} size="h4">
          Secrets
        </Title>
        {may('owner') && (
          <Dialog
            opener="Make a new secret"
            title="Make a new secret"
            submit="Make it"
            act={() => ask<{ client_secret: string }>(path, { method: 'POST' })}
            done={(made) => (
              <>
                <Text size="sm">Give it to the application now. It is not shown again.</Text>
                <Copyable label="client secret" value={made.client_secret} />
              </>
            )}
          >
            <Text size="sm">
              {client.keys.length < 2
                ? 'The present secret stays good until you end it.'
                : 'Two secrets are active. The older one ends at once, and whoever still uses it is refused.'}
            </Text>
          </Dialog>
        )}
      </Group>
      {client.keys.length === 0 && <Text size="sm">No secret is active: the application cannot call.</Text>}
      {client.keys.map((key) => (
        <Group key={key.id} justify="space-between" mt="xs">
          <Text size="sm">
            Made <Moment at={key.created_at} />
          </Text>
          {may('owner') && (
            <Dialog
              opener="End"
              title="End this secret?"
              submit="End it"
              danger
              act={() => ask(`${path}/${key.id}`, { method: 'DELETE' })}
            >
              <Text size="sm">Whoever still uses it is refused from now on.</Text>
            </Dialog>
          )}
        </Group>
      ))}
    </Paper>
  );
}
