import { type ButtonProps, Checkbox, Code, Group, Stack, Text, TextInput } from '@mantine/core';
import { useLocation } from 'wouter';
import { ActionButton } from '../../parts/forms/ActionButton.tsx';
import { ActionMenu } from '../../parts/forms/ActionMenu.tsx';
import { TypedConfirmation } from '../../parts/forms/Erase.tsx';
import { FormDialog } from '../../parts/forms/FormDialog.tsx';
import { Status } from '../../parts/Status.tsx';
import { Fields } from '../../parts/values.tsx';
import { call, type ResponseOf } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';
import type { Webhook } from '../../service/types.ts';
import { NewSecret, Organizations, SyncEvents, typedOrganizations } from './EndpointForm.tsx';
import { EventTypes, selectedTypes } from './EventTypes.tsx';

export function EndpointActions({ webhook }: { webhook: Webhook }) {
  const { client_id } = useClient();
  const [, navigate] = useLocation();
  const params = { client_id, id: webhook.id };
  return (
    <Group gap="xs">
      <SendTestEvent id={webhook.id} />
      <FormDialog
        opener="Edit"
        title="Edit endpoint"
        submit="Save"
        size="lg"
        success="The endpoint was saved."
        action={(form) => {
          const url = String(form.get('webhook_url') ?? webhook.url);
          return call('webhooks.update', params, {
            body: {
              event_types: selectedTypes(form) ?? null,
              org_ids: typedOrganizations(form) ?? null,
              sync_events: form.get('sync_events') !== null,
              ...(url === webhook.url ? {} : { webhook_url: url }),
            },
          });
        }}
      >
        {!webhook.built_in && (
          <TextInput
            label="URL"
            description="Pending deliveries go to the new URL. The secret stays the same."
            name="webhook_url"
            type="url"
            required
            defaultValue={webhook.url}
          />
        )}
        <Organizations org_ids={webhook.org_ids ?? []} />
        <SyncEvents checked={webhook.sync_events} />
        <EventTypes selected={webhook.event_types ?? []} />
      </FormDialog>
      {webhook.status === 'enabled' && (
        <ActionButton
          action={() => call('webhooks.update', params, { body: { paused: webhook.paused_since === null } })}
        >
          {webhook.paused_since === null ? 'Pause' : 'Resume'}
        </ActionButton>
      )}
      {webhook.status !== 'enabled' && (
        <ActionButton action={() => call('webhooks.enable', params)}>Enable</ActionButton>
      )}
      <ActionMenu label={`More actions for ${webhook.url}`}>
        <FormDialog
          opener="Rotate secret"
          title="Rotate secret"
          submit="Rotate"
          action={async (form) => {
            const immediately = form.get('immediately') !== null;
            return { ...(await call('webhooks.rotate', params, { body: { immediately } })), immediately };
          }}
          done={({ webhook_secret, immediately }) => (
            <NewSecret
              secret={webhook_secret}
              note={immediately ? 'The old secret is no longer valid.' : 'The old secret remains valid for 24 hours.'}
            />
          )}
        >
          <Text size="sm">
            Creates a new secret. For 24 hours, deliveries are signed with both secrets, so you can switch without
            rejecting events.
          </Text>
          <Checkbox
            name="immediately"
            label="Revoke the old secret immediately"
            description="If it was leaked. The receiver rejects events until it has the new secret."
          />
        </FormDialog>
        {webhook.status === 'enabled' && (
          <FormDialog
            opener="Disable"
            title="Disable endpoint"
            submit="Disable"
            action={() => call('webhooks.disable', params)}
            danger
          >
            <Text size="sm">
              No more events are sent to this endpoint. Pending deliveries fail and can be resent later.
            </Text>
          </FormDialog>
        )}
        <FormDialog
          opener="Delete"
          title="Delete endpoint"
          submit="Delete"
          action={async () => {
            await call('webhooks.delete', params);
            navigate('/endpoints');
          }}
          success="The endpoint was deleted."
          danger
        >
          <Text size="sm" className="breakable">
            Deletes {webhook.url}, its secrets and its delivery history
            {webhook.built_in && ', and all requests the built-in receiver has received'}. Events are kept.
          </Text>
          <TypedConfirmation text="delete" />
        </FormDialog>
      </ActionMenu>
    </Group>
  );
}

export function SendTestEvent({ id, look }: { id: string; look?: ButtonProps }) {
  const { client_id } = useClient();
  return (
    <FormDialog
      opener="Send test event"
      title="Send test event"
      submit="Send"
      action={() => call('webhooks.try', { client_id, id })}
      done={(result) => <TestResult result={result} />}
      {...(look && { look })}
    >
      <Text size="sm">
        Sends one signed <Code>webhook.test</Code> event now. It does not appear in the list of events.
      </Text>
    </FormDialog>
  );
}

function TestResult({ result }: { result: ResponseOf<'webhooks.try'> }) {
  return (
    <Stack gap="xs" role="status">
      <Fields
        of={{
          Result: <Status of={result.delivered ? 'success' : 'failed'} />,
          Response: result.status_code ?? 'None',
          Duration: `${result.duration_ms} ms`,
        }}
      />
      {result.problem && <Text size="sm">{result.problem}</Text>}
      {result.snippet && (
        <Code block className="wrapped">
          {result.snippet}
        </Code>
      )}
    </Stack>
  );
}
