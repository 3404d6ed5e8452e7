import type { ReceiverState } from '../../model/dashboard/receiver.ts';
import type { Receiver } from '../../receiver/receivers.ts';

export function describeReceiver({ endpoint_id, ...state }: Receiver): ReceiverState {
  return { webhook_id: endpoint_id, ...state };
}
