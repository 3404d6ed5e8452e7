import { List, Stack, Text } from '@mantine/core';
import { DataTable } from '../../parts/DataTable.tsx';
import { FormDialog } from '../../parts/FormDialog.tsx';
import { Section } from '../../parts/layout.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { call } from '../../service/api.ts';
import { useQuery } from '../../service/queries.ts';
import { useSession } from '../../service/session.tsx';

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
            </Section>
          )}
        </Stack>
      )}
    </QueryResult>
  );
}
