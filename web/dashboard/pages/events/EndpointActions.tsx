import { Code, Group, Stack, Text } from '@mantine/core';
import type { WebhookRow, WebhookSecret, WebhookTried } from '../../../../src/model/dashboard/webhooks.ts';
import { ActButton } from '../../parts/ActButton.tsx';
import { Dialog } from '../../parts/Dialog.tsx';
import { Fields } from '../../parts/Fields.tsx';
import { Status } from '../../parts/Status.tsx';
import { ask } from '../../service/ask.ts';
import { useClient } from '../../service/client.tsx';
import { NewSecret } from './NewSecret.tsx';
import { TypeChoice, typesIn } from './TypeChoice.tsx';

export function EndpointActions({ webhook }: { webhook: WebhookRow }) {
  const { of } = useClient();
  const path = of(`webhooks/${webhook.id}`);
  const post = <Result,>(verb: string) => ask<Result>(`${path}/${verb}`, { method: 'POST' });
  return (
    <Group gap="xs">
      <Dialog
        opener="Send test event"
        title="Send test event"
        submit="Send"
        act={() => post<WebhookTried>('try')}
        done={(tried) => <Tried tried={tried} />}
      >
        <Text size="sm">
          A signed event of the type <Code>webhook.test</Code> is sent once, now. It is not kept among the events.
        </Text>
      </Dialog>
      <Dialog
        opener="Edit types"
        title="Event types"
        submit="Save"
        act={(typed) => ask(path, { method: 'PATCH', body: { event_types: typesIn(typed) ?? null } })}
      >
        <TypeChoice chosen={webhook.event_types ?? []} />
      </Dialog>
      <Dialog
        opener="Rotate secret"
        title="Rotate secret"
        submit="Rotate"
        act={() => post<WebhookSecret>('rotate-secret')}
        done={({ webhook_secret }) => (
          <NewSecret secret={webhook_secret} note="The old secret signs too for 24 hours more." />
        )}
      >
        <Text size="sm">
          The endpoint gets a new secret. Deliveries are signed with the old one as well for 24 hours, so that nothing
          is refused while you change it.
        </Text>
      </Dialog>
      {webhook.status === 'enabled' ? (
        <Dialog opener="Disable" title="Disable endpoint" submit="Disable" act={() => post('disable')} danger>
          <Text size="sm">
            Nothing more is sent to this endpoint. Deliveries that wait for it end as failed; they can be resent later.
          </Text>
        </Dialog>
      ) : (
        <ActButton act={() => post('enable')}>Enable</ActButton>
      )}
      <Dialog
        opener="Delete"
        title="Delete endpoint"
        submit="Delete"
        act={() => ask(path, { method: 'DELETE' })}
        danger
      >
        <Text size="sm" className="breakable">
          {webhook.url} is forgotten with its secrets and the record of its deliveries
          {webhook.built_in && ', and so is everything the built-in receiver got'}. Events stay.
        </Text>
      </Dialog>
    </Group>
  );
}

function Tried({ tried }: { tried: WebhookTried }) {
  return (
    <Stack gap="xs" role="status">
      <Fields
        of={{
          Result: <Status of={tried.delivered ? 'success' : 'failed'} />,
          Status: tried.status_code ?? 'No answer',
          Took: `${tried.duration_ms} ms`,
        }}
      />
      {tried.problem && <Text size="sm">{tried.problem}</Text>}
      {tried.snippet && <Code block>{tried.snippet}</Code>}
    </Stack>
  );
}
