import { TextInput } from '@mantine/core';
import type { WebhookSecret } from '../../../../src/model/dashboard/webhooks.ts';
import { Dialog } from '../../parts/Dialog.tsx';
import { ask } from '../../service/ask.ts';
import { useClient } from '../../service/client.tsx';
import { NewSecret } from './NewSecret.tsx';
import { TypeChoice, typesIn } from './TypeChoice.tsx';

export function AddEndpoint() {
  const { of } = useClient();
  const add = (typed: FormData) => {
    const event_types = typesIn(typed);
    const body = { webhook_url: String(typed.get('webhook_url')), ...(event_types ? { event_types } : {}) };
    return ask<WebhookSecret>(of('webhooks'), { method: 'POST', body });
  };
  return (
    <Dialog
      opener="Add endpoint"
      title="Add endpoint"
      submit="Add"
      act={add}
      done={({ webhook_secret }) => <NewSecret secret={webhook_secret} />}
      look={{ variant: 'filled' }}
    >
      <TextInput
        label="Address"
        name="webhook_url"
        type="url"
        placeholder="https://app.example.org/events"
        required
        data-autofocus
      />
      <TypeChoice chosen={[]} />
    </Dialog>
  );
}
