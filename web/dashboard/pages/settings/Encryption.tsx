import { List, Stack, Text } from '@mantine/core';
import { FormDialog } from '../../parts/forms/FormDialog.tsx';
import { Section } from '../../parts/layout.tsx';
import { DataTable } from '../../parts/lists/DataTable.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { call } from '../../service/api.ts';
import { useQuery } from '../../service/queries.ts';
import { useSession } from '../../service/session.tsx';

const role_labels: Record<string, string> = {
  all: 'Service',
  api: 'API process',
  worker: 'Worker',
  command: 'Command line',
};

export function Encryption() {
  const { may } = useSession();
  const query = useQuery('encryption.get', {}, { refresh_ms: 5_000 });
  return (
    <QueryResult query={query}>
      {({ encryption }) => (
        <Stack maw={720}>
          <Text size="sm" c="dimmed">
            Credentials, tokens and webhook secrets are encrypted with data keys, which are encrypted with the master
            key. The master key is never stored in the database.
          </Text>
          <DataTable
            label="Master keys"
            rows={encryption.wrapped}
            rowKey={(key) => key.id}
            columns={[
              { head: 'Master key', cell: (key) => key.id },
              { head: 'Data keys', cell: (key) => key.keys },
              { head: 'Status', cell: (key) => (key.id === encryption.current ? 'Current' : 'Being replaced') },
            ]}
            empty="Nothing is encrypted yet. A data key appears here when the first secret is stored."
          />
          {encryption.source === 'file' ? (
            <div>
              {may('owner') && (
                <FormDialog
                  opener="Rotate master key"
                  title="Rotate master key"
                  submit="Rotate"
                  action={() => call('encryption.rotate', {})}
                  done={({ rewrapped }) => (
                    <Text size="sm" role="status">
                      {rewrapped} data keys re-encrypted. Back up the new master.key file in the data folder.
                    </Text>
                  )}
                >
                  <Text size="sm">
                    Creates a new master key in the data folder and re-encrypts all data keys with it, without
                    interruption. Back up the new key: stored credentials cannot be decrypted without it.
                  </Text>
                </FormDialog>
              )}
            </div>
          ) : (
            <Section title="Master key rotation">
              <List type="ordered" size="sm" spacing={4}>
                <List.Item>Create a new key: openssl rand -hex 32</List.Item>
                <List.Item>
                  Set MASTER_KEY_PREVIOUS to the new key for every process and restart them one by one.
                </List.Item>
                <List.Item>
                  Swap the two settings and restart again. All data keys are re-encrypted at startup.
                </List.Item>
                <List.Item>When this page shows only one master key, remove MASTER_KEY_PREVIOUS.</List.Item>
              </List>
              <Text size="sm" mt="xs">
                A key that a program prints is set by MASTER_KEY_COMMAND or MASTER_KEY_PREVIOUS_COMMAND instead.
              </Text>
            </Section>
          )}
          <Section title="Unwrapped keys">
            <Text size="sm" c="dimmed" mb="xs">
              How often each process decrypted a key with the master key, per host and purpose. A process keeps keys in
              memory, so a start or many accounts raise the counts. Days are in UTC; a minute may pass before a count
              appears.
            </Text>
            <DataTable
              label="Unwrapped keys"
              rows={encryption.unwraps}
              rowKey={({ host, role, purpose }) => `${host} ${role} ${purpose}`}
              columns={[
                { head: 'Purpose', cell: ({ purpose }) => purpose },
                { head: 'Process', cell: ({ host, role }) => `${role_labels[role] ?? role}, ${host}` },
                { head: 'Today', align: 'right', phone: 'labeled', cell: ({ today }) => today.toLocaleString() },
                {
                  head: '30 days',
                  align: 'right',
                  phone: 'labeled',
                  cell: ({ last_30_days }) => last_30_days.toLocaleString(),
                },
              ]}
              empty="No key has been unwrapped in the last 30 days."
            />
          </Section>
        </Stack>
      )}
    </QueryResult>
  );
}
