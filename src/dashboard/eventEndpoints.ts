import type { Endpoint } from '../api/endpoint.ts';
import eventsGet from './events.get.ts';
import eventsList from './events.list.ts';
import eventsResend from './events.resend.ts';
import eventTypesList from './eventTypes.list.ts';
import failedEventsCount from './failedEvents.count.ts';
import failedEventsResend from './failedEvents.resend.ts';
import receivedClear from './received.clear.ts';
import receivedGet from './received.get.ts';
import receivedList from './received.list.ts';
import receiverCreate from './receiver.create.ts';
import receiverGet from './receiver.get.ts';
import receiverUpdate from './receiver.update.ts';
import webhooksCreate from './webhooks.create.ts';
import webhooksDelete from './webhooks.delete.ts';
import webhooksDisable from './webhooks.disable.ts';
import webhooksEnable from './webhooks.enable.ts';
import webhooksList from './webhooks.list.ts';
import webhooksRotate from './webhooks.rotate.ts';
import webhooksTry from './webhooks.try.ts';
import webhooksUpdate from './webhooks.update.ts';

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
