import { Checkbox, Text, TextInput } from '@mantine/core';
import { FormDialog, primary } from '../../parts/forms/FormDialog.tsx';
import { Copyable } from '../../parts/values.tsx';
import { call } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';
import { EventTypes, selectedTypes } from './EventTypes.tsx';

export function AddEndpoint() {
  const { client_id } = useClient();
  return (
    <FormDialog
      opener="Add endpoint"
      title="Add endpoint"
      submit="Add"
      size="lg"
      action={(form) => {
        const event_types = selectedTypes(form);
        const org_ids = typedOrganizations(form);
        const body = {
          webhook_url: String(form.get('webhook_url')),
          sync_events: form.get('sync_events') !== null,
          ...(event_types ? { event_types } : {}),
          ...(org_ids ? { org_ids } : {}),
        };
        return call('webhooks.create', { client_id }, { body });
      }}
      done={({ webhook_secret }) => <NewSecret secret={webhook_secret} />}
      look={primary}
    >
      <TextInput
        label="URL"
        name="webhook_url"
        type="url"
        placeholder="https://app.example.org/events"
        required
        data-autofocus
      />
      <Organizations org_ids={[]} />
      <SyncEvents checked={false} />
      <EventTypes selected={[]} />
    </FormDialog>
  );
}

/** The dashboard shows an endpoint's secret only here. */
export function NewSecret({ secret, note }: { secret: string; note?: string }) {
  return (
    <>
      <Text size="sm">Copy this secret now. It is not shown again.</Text>
      <Copyable value={secret} label="secret" />
      {note && (
        <Text size="sm" c="dimmed">
          {note}
        </Text>
      )}
    </>
  );
}

/** The organizations whose events an endpoint receives, as the form field `org_ids`. */
export function Organizations({ org_ids }: { org_ids: readonly string[] }) {
  return (
    <TextInput
      label="Organizations"
      description="Your IDs of organizations, separated by commas. Leave empty for all."
      name="org_ids"
      defaultValue={org_ids.join(', ')}
    />
  );
}

/** The IDs in the form field `org_ids`, or undefined for all organizations. */
export function typedOrganizations(form: FormData): string[] | undefined {
  const ids = String(form.get('org_ids') ?? '')
    .split(',')
    .map((each) => each.trim());
  const named = ids.filter((each) => each !== '');
  return named.length === 0 ? undefined : named;
}

export function SyncEvents({ checked }: { checked: boolean }) {
  return (
    <Checkbox
      name="sync_events"
      label="Sync events"
      description="Also send events about changes that staff made in the EMR."
      defaultChecked={checked}
    />
  );
}
