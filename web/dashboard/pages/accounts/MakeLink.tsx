import { Autocomplete, NativeSelect, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { EmrRow, MadeLink, OrganizationRow } from '../../../../src/model/dashboard/accounts.ts';
import { Dialog } from '../../parts/Dialog.tsx';
import { ask, type Problem } from '../../service/ask.ts';
import { useClient } from '../../service/client.tsx';
import { LinkToSend } from './LinkToSend.tsx';

type Made = { link: MadeLink; org_id: string; user_id: string };
type Known = { organizations: readonly OrganizationRow[]; emrs: readonly EmrRow[] };

/** A link for a clinic that links an account for the first time, in a window of its own. */
export function MakeLink(known: Known) {
  const { of } = useClient();
  const make = async (typed: FormData): Promise<Made> => {
    const body = Object.fromEntries([...typed].filter(([, value]) => value !== ''));
    const { link } = await ask<{ link: MadeLink }>(of('links'), { method: 'POST', body });
    return { link, org_id: String(typed.get('org_id')), user_id: String(typed.get('user_id')) };
  };
  return (
    <Dialog<Made>
      opener="Make a link"
      title="Make a link"
      submit="Make the link"
      look={{ size: 'sm', variant: 'filled' }}
      act={make}
      done={({ link, org_id, user_id }) => <LinkToSend link={link} org_id={org_id} user_id={user_id} />}
    >
      {(problem) => <LinkFields problem={problem} {...known} />}
    </Dialog>
  );
}

function LinkFields({ problem, organizations, emrs }: { problem: Problem | null } & Known) {
  const [org_id, setOrgId] = useState('');
  const known = organizations.find((organization) => organization.org_id === org_id.trim());
  const wrong = (field: string) => (problem?.field === field ? problem.message : undefined);
  return (
    <>
      <Text size="sm">Whoever opens the link signs in at the EMR and so links an account.</Text>
      <Autocomplete
        label="Organization"
        description="Your id of the clinic: one that is known, or a new one"
        name="org_id"
        required
        data={organizations.map((organization) => organization.org_id)}
        value={org_id}
        onChange={setOrgId}
        error={wrong('org_id')}
        data-autofocus
      />
      <TextInput
        label="User"
        description="Your id of the person: no e-mail address, no phone number"
        name="user_id"
        required
        error={wrong('user_id')}
      />
      {known ? (
        <Text size="sm" c="dimmed" className="breakable">
          {known.emr_name} at {known.emr_address}
        </Text>
      ) : (
        <>
          <NativeSelect
            label="EMR"
            name="emr_name"
            data={emrs.map(({ emr, emr_name }) => ({ value: emr, label: emr_name }))}
            error={wrong('emr_name')}
          />
          <TextInput
            label="Address of the EMR"
            description="Such as clinic.example.com"
            name="emr_instance_domain"
            required
            error={wrong('emr_instance_domain')}
          />
        </>
      )}
      <LanguageChoice />
    </>
  );
}

export function LanguageChoice() {
  return (
    <NativeSelect
      label="Language"
      name="language"
      data={[
        { value: '', label: 'That of the person’s browser' },
        { value: 'en', label: 'English' },
        { value: 'es', label: 'Spanish' },
      ]}
    />
  );
}
