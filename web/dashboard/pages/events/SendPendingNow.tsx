import { ActionButton } from '../../parts/forms/ActionButton.tsx';
import { call } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';
import type { Webhook } from '../../service/types.ts';

/** Whether deliveries wait for their next attempt at an endpoint that accepts them. */
export function canSendPending({ pending, status, paused_since }: Webhook): boolean {
  return pending > 0 && status === 'enabled' && paused_since === null;
}

export function SendPendingNow({ webhook: { id } }: { webhook: Webhook }) {
  const { client_id } = useClient();
  return (
    <ActionButton
      action={() => call('webhooks.send-waiting', { client_id, id })}
      done={({ deliveries }) => (deliveries === 1 ? 'Sending 1 now.' : `Sending ${deliveries} now.`)}
    >
      Send pending now
    </ActionButton>
  );
}
