import type { Endpoint } from '../../http/endpoint.ts';
import receivedClear from '../receiver/received.clear.ts';
import receivedGet from '../receiver/received.get.ts';
import receivedList from '../receiver/received.list.ts';
import receiverCreate from '../receiver/receiver.create.ts';
import receiverGet from '../receiver/receiver.get.ts';
import receiverUpdate from '../receiver/receiver.update.ts';
import webhooksCreate from '../webhooks/webhooks.create.ts';
import webhooksDelete from '../webhooks/webhooks.delete.ts';
import webhooksDisable from '../webhooks/webhooks.disable.ts';
import webhooksEnable from '../webhooks/webhooks.enable.ts';
import webhooksList from '../webhooks/webhooks.list.ts';
import webhooksRotate from '../webhooks/webhooks.rotate.ts';
import webhooksTry from '../webhooks/webhooks.try.ts';
import webhooksUpdate from '../webhooks/webhooks.update.ts';
import eventsGet from './events.get.ts';
import eventsList from './events.list.ts';
import eventsResend from './events.resend.ts';
import eventTypesList from './eventTypes.list.ts';
import failedEventsCount from './failedEvents.count.ts';
import failedEventsResend from './failedEvents.resend.ts';

/** What the page Events & webhooks asks for. */
export const event_endpoints: readonly Endpoint[] = [
  eventTypesList,
  eventsList,
  eventsGet,
  eventsResend,
  failedEventsCount,
  failedEventsResend,
  webhooksList,
  webhooksCreate,
  webhooksUpdate,
  webhooksRotate,
  webhooksDisable,
  webhooksEnable,
  webhooksDelete,
  webhooksTry,
  receiverGet,
  receiverCreate,
  receiverUpdate,
  receivedList,
  receivedGet,
  receivedClear,
];
