import { List, Paper, Stack, Text, Title } from '@mantine/core';
import type { Encryption as Shown } from '../../../../src/model/dashboard/encryption.ts';
import { Answer } from '../../parts/Answer.tsx';
import { Dialog } from '../../parts/Dialog.tsx';
import { Rows } from '../../parts/Rows.tsx';
import { ask } from '../../service/ask.ts';
import { useSession } from '../../service/session.tsx';
import { useAnswer } from '../../service/useService.ts';

/** The master key: which one wraps what, and how it is replaced. */
export function Encryption() {
  const { may } = useSession();
  const keys = useAnswer<{ encryption: Shown }>('encryption', { refresh_ms: 5_000 });
  return (
    <Answer to={keys}>
      {({ encryption }) => (
        <Stack maw={720}>
          <Text size="sm" c="dimmed">
            Credentials, tokens and webhook secrets are sealed with keys of their own, and the master key wraps those.
            It is never in the database.
          </Text>
          <Rows
            label="Master keys"
            rows={encryption.wrapped}
            keyOf={(key) => key.id}
            columns={[
              { head: 'Master key', cell: (key) => key.id },
              { head: 'Keys under it', cell: (key) => key.keys },
              { head: 'State', cell: (key) => (key.id === encryption.current ? 'In use' : 'Being replaced') },
            ]}
            empty="Nothing is sealed yet."
          />
          {encryption.source === 'file' ? (
            <div>
              {may('owner') && (
                <Dialog
                  opener="Replace the master key"
                  title="Replace the master key?"
                  submit="Replace it"
                  act={() => ask<{ rewrapped: number }>('encryption/rotate', { method: 'POST' })}
                  done={({ rewrapped }) => (
                    <Text size="sm" role="status">
                      Done: {rewrapped} keys are under the new master key. Back up the file master.key of the data
                      folder anew.
                    </Text>
                  )}
                >
                  <Text size="sm">
                    A new key is made in the data folder and everything is wrapped with it. Work goes on meanwhile. Back
                    up the new key: without it no credential opens.
                  </Text>
                </Dialog>
              )}
            </div>
          ) : (
            <Paper withBorder p="md">
              <Title order={2} size="h4" mb="xs">
                To replace it
              </Title>
              <List type="ordered" size="sm" spacing={4}>
                <List.Item>Make a new key: openssl rand -hex 32</List.Item>
                <List.Item>
                  Give every process MASTER_KEY_PREVIOUS = the new key, and restart them one by one.
                </List.Item>
                <List.Item>Swap the two settings and restart again: everything is wrapped anew at the start.</List.Item>
                <List.Item>When this page shows one master key, take MASTER_KEY_PREVIOUS away.</List.Item>
              </List>
            </Paper>
          )}
        </Stack>
      )}
    </Answer>
  );
}
