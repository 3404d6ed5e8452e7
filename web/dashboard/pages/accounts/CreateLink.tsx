import { Alert, Anchor, Autocomplete, Group, Loader, NativeSelect, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { errorAt } from '../../parts/errors.tsx';
import { FormDialog, primary } from '../../parts/forms/FormDialog.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { Copyable } from '../../parts/values.tsx';
import { type ApiError, call } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';
import { useSession } from '../../service/session.tsx';
import type { CreatedLink, Emr, Organization } from '../../service/types.ts';
import { useAccounts } from './useAccounts.ts';

type Props = { organizations: readonly Organization[]; emrs: readonly Emr[] };
type Created = { link: CreatedLink; org_id: string; user_id: string };

/** Creates a link with which a practice connects a new account. */
export function CreateLink(props: Props) {
  const { client_id } = useClient();
  const create = async (form: FormData): Promise<Created> => {
    const text = (name: string) => String(form.get(name) ?? '');
    const optional = ['emr_name', 'emr_instance_domain', 'language'].filter((name) => text(name) !== '');
    const ids = { org_id: text('org_id'), user_id: text('user_id') };
    const body = { ...ids, ...Object.fromEntries(optional.map((name) => [name, text(name)])) };
    const { link } = await call('accounts.link', { client_id }, { body });
    return { link, ...ids };
  };
  return (
    <FormDialog<Created>
      name="create-link"
      opener="Create link"
      title="Create link"
      submit="Create"
      look={primary}
      action={create}
      done={(created) => <ShareLink {...created} />}
    >
      {(error) => <LinkFields error={error} {...props} />}
    </FormDialog>
  );
}

function LinkFields({ error, organizations, emrs }: { error: ApiError | null } & Props) {
  const { sandbox } = useSession();
  const [org_id, setOrgId] = useState('');
  const existing = organizations.find((organization) => organization.org_id === org_id.trim());
  return (
    <>
      <Text size="sm">Anyone who opens the link can sign in to the EMR and connect their account.</Text>
      <Autocomplete
        label="Organization"
        description="Organization ID (existing or new)"
        name="org_id"
        required
        data={organizations.map((organization) => organization.org_id)}
        value={org_id}
        onChange={setOrgId}
        error={errorAt(error, 'org_id')}
        data-autofocus
        // The list would cover the next field as soon as the dialog opens.
        openOnFocus={false}
      />
      <TextInput
        label="User"
        description="Your ID for the user, not an email address or phone number"
        name="user_id"
        required
        error={errorAt(error, 'user_id')}
      />
      {existing ? (
        <Text size="sm" c="dimmed" className="breakable">
          {existing.emr_name} at {existing.emr_address}
        </Text>
      ) : (
        <>
          <NativeSelect
            label="EMR"
            name="emr_name"
            data={emrs.map(({ emr, emr_name }) => ({ value: emr, label: emr_name }))}
            error={errorAt(error, 'emr_name')}
          />
          <TextInput
            label="EMR address"
            description={sandbox ? 'The test EMR of this sandbox' : 'For example, clinic.example.com'}
            name="emr_instance_domain"
            required
            defaultValue={sandbox ? organizations[0]?.emr_address : undefined}
            error={errorAt(error, 'emr_instance_domain')}
          />
        </>
      )}
      <LanguageSelect />
    </>
  );
}

export function LanguageSelect() {
  return (
    <NativeSelect
      label="Language"
      name="language"
      data={[
        { value: '', label: 'Browser language' },
        { value: 'en', label: 'English' },
        { value: 'es', label: 'Spanish' },
      ]}
    />
  );
}

/** The link to send to the practice, and whether the account has been linked. */
export function ShareLink({ link, org_id, user_id }: Created) {
  const { data } = useAccounts();
  const account = data?.organizations
    .find((organization) => organization.org_id === org_id)
    ?.accounts.find((each) => each.user_id === user_id);
  const created_at = new Date(link.expires_at).getTime() - link.minutes * 60_000;
  const linked = account?.status === 'active' && new Date(account.linked_at).getTime() >= created_at;
  return (
    <>
      <Text size="sm">
        Send this link to the person who will sign in to the EMR. It works once and expires in {lifetime(link)}, at{' '}
        <Timestamp at={link.expires_at} show="clock" />.
      </Text>
      <Copyable value={link.url} label="link" />
      <Anchor size="sm" href={mailtoUrl(link)}>
        Send by email
      </Anchor>
      <div role="status">
        {linked ? (
          <Alert color="green">{user_id} is linked. You can reveal the access token on the Accounts page.</Alert>
        ) : (
          <Group gap="xs">
            <Loader size="xs" aria-hidden />
            <Text size="sm">Waiting for sign-in…</Text>
          </Group>
        )}
      </div>
    </>
  );
}

function lifetime({ minutes }: CreatedLink): string {
  const days = minutes / (24 * 60);
  return days >= 1 ? `${days} days` : `${minutes} minutes`;
}

function mailtoUrl(link: CreatedLink): string {
  const subject = 'Please connect your EMR account';
  const body = `Please open this link and sign in with your EMR account:\n\n${link.url}\n\nIt works once and expires in ${lifetime(link)}.\n`;
  return `mailto:?subject=${encodeURIComponent(subject)}&body=${encodeURIComponent(body)}`;
}
