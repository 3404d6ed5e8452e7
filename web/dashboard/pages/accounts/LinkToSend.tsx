import { Alert, Anchor, Group, Loader, Text } from '@mantine/core';
import type { MadeLink } from '../../../../src/model/dashboard/accounts.ts';
import { Copyable } from '../../parts/Copyable.tsx';
import { Moment } from '../../parts/Moment.tsx';
import { useAccounts } from './useAccounts.ts';

/** The address to be sent, and whether somebody has followed it. */
export function LinkToSend({ link, org_id, user_id }: { link: MadeLink; org_id: string; user_id: string }) {
  const { data } = useAccounts();
  const account = data?.organizations
    .find((organization) => organization.org_id === org_id)
    ?.accounts.find((each) => each.user_id === user_id);
  const made_at = new Date(link.expires_at).getTime() - link.minutes * 60_000;
  const linked = account?.status === 'active' && new Date(account.linked_at).getTime() >= made_at;
  return (
    <>
      <Text size="sm">
        Send this address to the person who signs in at the EMR. It is good once, for {link.minutes} minutes: until{' '}
        <Moment at={link.expires_at} />.
      </Text>
      <Copyable value={link.url} label="the address" />
      <Anchor size="sm" href={mailOf(link)}>
        Write an e-mail with it
      </Anchor>
      <div role="status">
        {linked ? (
          <Alert color="green">
            The account of {user_id} is linked. Its access token can be read in the list of accounts.
          </Alert>
        ) : (
          <Group gap="xs">
            <Loader size="xs" aria-hidden />
            <Text size="sm">The account appears here as soon as the person has signed in.</Text>
          </Group>
        )}
      </div>
    </>
  );
}

function mailOf({ url, minutes }: MadeLink): string {
  const subject = 'Please connect your EMR account';
  const body = `Please open this address and sign in with your EMR account:\n\n${url}\n\nIt works once, within ${minutes} minutes.\n`;
  return `mailto:?subject=${encodeURIComponent(subject)}&body=${encodeURIComponent(body)}`;
}
