import { Checkbox, Group, List, Text } from '@mantine/core';
import { ActionButton } from '../../parts/forms/ActionButton.tsx';
import { ActionMenu } from '../../parts/forms/ActionMenu.tsx';
import { TypedConfirmation } from '../../parts/forms/Erase.tsx';
import { FormDialog } from '../../parts/forms/FormDialog.tsx';
import { Copyable } from '../../parts/values.tsx';
import { call } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';
import type { Account, Organization } from '../../service/types.ts';
import { LanguageSelect, ShareLink } from './CreateLink.tsx';

type Props = { account: Account; organization: Organization };

export function AccountActions({ account, organization, syncing }: Props & { syncing: boolean }) {
  const params = useAccountParams(account);
  return (
    // Re-link is there in every state, so that its dialog stays open while the state changes.
    <Group gap="xs" wrap="nowrap">
      {account.status === 'active' && (
        <ActionButton disabled={syncing} action={() => call('accounts.sync', params)}>
          Sync now
        </ActionButton>
      )}
      <Relink account={account} organization={organization} />
      {account.status !== 'revoked' && (
        <ActionMenu label={`More actions for ${account.user_id}`}>
          <AccessToken account={account} />
          <RotateToken account={account} />
          <Unlink account={account} organization={organization} />
        </ActionMenu>
      )}
    </Group>
  );
}

function useAccountParams({ id }: Account) {
  const { client_id } = useClient();
  return { client_id, account_id: id };
}

/** Creates a link with which the account's user signs in to the EMR again. */
export function Relink({ account, organization }: Props) {
  const params = useAccountParams(account);
  const revoked = account.status === 'revoked';
  return (
    <FormDialog
      opener="Re-link"
      title={`Re-link ${account.user_id}`}
      submit="Create link"
      look={{ variant: account.status === 'login_required' ? 'filled' : 'default' }}
      action={async (form) => {
        const language = String(form.get('language') ?? '');
        return (await call('accounts.relink', params, { body: language ? { language } : {} })).link;
      }}
      done={(link) => <ShareLink link={link} org_id={organization.org_id} user_id={account.user_id} />}
    >
      <Text size="sm">
        {revoked
          ? `${account.user_id} signs in to ${organization.emr_name} again. The account gets a new access token.`
          : `${account.user_id} signs in to ${organization.emr_name} again and enters only what is missing. The access token stays the same, and waiting jobs resume.`}
      </Text>
      <LanguageSelect />
    </FormDialog>
  );
}

function AccessToken({ account }: { account: Account }) {
  const params = useAccountParams(account);
  return (
    <FormDialog
      opener="Access token"
      title="Access token"
      submit="Reveal"
      action={() => call('accounts.reveal', params)}
      done={({ access_token }) => (
        <>
          <Text size="sm">Access token for {account.user_id}:</Text>
          <Copyable value={access_token} label="access token" />
        </>
      )}
    >
      <Text size="sm">
        Together with the client’s credentials, this token gives read and write access to the account’s records. Viewing
        this is logged.
      </Text>
    </FormDialog>
  );
}

function RotateToken({ account }: { account: Account }) {
  const params = useAccountParams(account);
  return (
    <FormDialog
      opener="Replace token"
      title={`Replace the access token for ${account.user_id}`}
      submit="Replace token"
      action={(form) => call('accounts.rotate', params, { body: { immediately: form.get('immediately') !== null } })}
      done={({ access_token }) => (
        <>
          <Text size="sm">New access token for {account.user_id}:</Text>
          <Copyable value={access_token} label="access token" />
        </>
      )}
    >
      <Text size="sm">The account gets a new access token. The current one stays valid for 24 hours.</Text>
      <Checkbox
        name="immediately"
        label="Revoke the current token immediately"
        description="If it was leaked. Requests fail until the application uses the new one."
      />
    </FormDialog>
  );
}

function Unlink({ account, organization }: Props) {
  const params = useAccountParams(account);
  return (
    <FormDialog
      opener="Unlink"
      title={`Unlink ${account.user_id}`}
      submit="Unlink"
      danger
      action={() => call('accounts.revoke', params)}
      success={`${account.user_id} was unlinked.`}
    >
      <List size="sm" spacing={4}>
        <List.Item>The access token stops working immediately and permanently.</List.Item>
        <List.Item>
          The stored {organization.emr_name} credentials are deleted, and the EMR session is ended if the EMR allows it.
        </List.Item>
        <List.Item>
          Unfinished jobs for this account fail, and each sends its event
          {account.parked_jobs > 0 ? ` (${account.parked_jobs} waiting for re-linking)` : ''}.
        </List.Item>
        <List.Item>Data already written to the EMR stays there.</List.Item>
        <List.Item>Re-linking creates a new access token.</List.Item>
      </List>
      <TypedConfirmation text="unlink" />
    </FormDialog>
  );
}
