import { Group, List, Text } from '@mantine/core';
import type { AccountRow, MadeLink, OrganizationRow } from '../../../../src/model/dashboard/accounts.ts';
import { ActButton } from '../../parts/ActButton.tsx';
import { Copyable } from '../../parts/Copyable.tsx';
import { Dialog } from '../../parts/Dialog.tsx';
import { ask } from '../../service/ask.ts';
import { useClient } from '../../service/client.tsx';
import { LinkToSend } from './LinkToSend.tsx';
import { LanguageChoice } from './MakeLink.tsx';

type Row = { account: AccountRow; organization: OrganizationRow };

/** What an operator can do with one account, as its state allows. */
export function AccountActions({ account, organization, syncing }: Row & { syncing: boolean }) {
  const { of } = useClient();
  const row = { account, organization };
  return (
    // Re-linking is offered in every state, so that its window stays open while the state changes.
    <Group gap="xs" wrap="nowrap">
      {account.status === 'active' && (
        <ActButton disabled={syncing} act={() => ask(of(`accounts/${account.id}/sync`), { method: 'POST' })}>
          Sync now
        </ActButton>
      )}
      <Relink {...row} />
      {account.status !== 'revoked' && <Reveal {...row} />}
      {account.status !== 'revoked' && <Revoke {...row} />}
    </Group>
  );
}

function Relink({ account, organization }: Row) {
  const { of } = useClient();
  const revoked = account.status === 'revoked';
  return (
    <Dialog<MadeLink>
      opener={revoked ? 'Link again' : 'Re-link'}
      title={revoked ? 'Link again' : 'Re-link'}
      submit="Make the link"
      look={{ variant: account.status === 'login_required' ? 'filled' : 'default' }}
      act={async (typed) => {
        const language = typed.get('language');
        const body = language ? { language } : {};
        return (await ask<{ link: MadeLink }>(of(`accounts/${account.id}/relink`), { method: 'POST', body })).link;
      }}
      done={(link) => <LinkToSend link={link} org_id={organization.org_id} user_id={account.user_id} />}
    >
      <Text size="sm">
        {revoked
          ? `${account.user_id} signs in at ${organization.emr_name} anew. The account then has another access token.`
          : `${account.user_id} signs in at ${organization.emr_name} once more and is asked only for what is missing. The access token stays the same, and the jobs that wait go on.`}
      </Text>
      <LanguageChoice />
    </Dialog>
  );
}

function Reveal({ account }: Row) {
  const { of } = useClient();
  return (
    <Dialog<string>
      opener="Access token"
      title="Access token"
      submit="Show it"
      look={{ variant: 'default' }}
      act={async () => {
        const path = of(`accounts/${account.id}/reveal`);
        return (await ask<{ access_token: string }>(path, { method: 'POST' })).access_token;
      }}
      done={(access_token) => (
        <>
          <Text size="sm">The access token of {account.user_id}. It is shown until you close this window.</Text>
          <Copyable value={access_token} label="the access token" />
        </>
      )}
    >
      <Text size="sm">
        With this token and the client’s credentials the records behind {account.user_id} can be read and written. That
        you look at it is recorded.
      </Text>
    </Dialog>
  );
}

function Revoke({ account, organization }: Row) {
  const { of } = useClient();
  return (
    <Dialog
      opener="Revoke"
      title={`Revoke ${account.user_id}`}
      submit="Revoke"
      danger
      act={() => ask(of(`accounts/${account.id}/revoke`), { method: 'POST' })}
    >
      <List size="sm" spacing={4}>
        <List.Item>Its access token stops working at once, for good.</List.Item>
        <List.Item>The service forgets how to sign in at {organization.emr_name}.</List.Item>
        <List.Item>
          Jobs that still wait for this account end as failed, each with its event
          {account.parked_jobs > 0 ? `; ${account.parked_jobs} wait to be re-linked now` : ''}.
        </List.Item>
        <List.Item>What was written to the EMR stays there.</List.Item>
        <List.Item>Linked again, the account has another access token.</List.Item>
      </List>
    </Dialog>
  );
}
