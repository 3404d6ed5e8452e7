import { Badge, Group, Stack, Text } from '@mantine/core';
import { ActionButton } from '../../../parts/forms/ActionButton.tsx';
import { QueryResult } from '../../../parts/QueryResult.tsx';
import { Timestamp } from '../../../parts/Timestamp.tsx';
import { call, type ResponseOf } from '../../../service/api.ts';
import { useQuery } from '../../../service/queries.ts';
import { describeBrowser } from './describeBrowser.ts';

type Session = ResponseOf<'me.sessions.list'>['sessions'][number];

const methods: Record<Session['method'], string> = {
  password: 'Password',
  password_totp: 'Password and code',
  passkey: 'Passkey',
  single_sign_on: 'Single sign-on',
};

/** Where the operator is signed in. */
export function Sessions() {
  const query = useQuery('me.sessions.list', {});
  return (
    <QueryResult query={query} rows={1}>
      {({ sessions }) => (
        <Stack>
          {sessions.map((session) => (
            <SessionEntry key={session.id} of={session} />
          ))}
          {sessions.length > 1 && (
            <Group>
              <ActionButton action={() => call('me.sessions.end-others', {})} done={() => 'Other sessions ended.'}>
                End all other sessions
              </ActionButton>
            </Group>
          )}
        </Stack>
      )}
    </QueryResult>
  );
}

function SessionEntry({ of: { id, user_agent, address, method, created_at, seen_at, current } }: { of: Session }) {
  return (
    <Group justify="space-between" wrap="nowrap" className="entry">
      <div>
        <Group gap="xs">
          <Text size="sm" fw={500}>
            {describeBrowser(user_agent)}
          </Text>
          {current && (
            <Badge variant="light" color="green">
              This device
            </Badge>
          )}
        </Group>
        <Text size="xs" c="dimmed" className="breakable">
          {address} · {methods[method]} · Signed in <Timestamp at={created_at} /> · Active <Timestamp at={seen_at} />
        </Text>
      </div>
      {!current && (
        <ActionButton flex="none" action={() => call('me.sessions.end', { id })} done={() => 'Session ended.'}>
          End session
        </ActionButton>
      )}
    </Group>
  );
}
