export type { FollowOptions } from './changes.ts';
export { Chartwire, type ChartwireOptions } from './client.ts';
export * from './errors.ts';
export type * from './generated/types.gen.ts';
export type { WaitOptions } from './jobs.ts';
export type { PagePromise } from './paging.ts';
export {
  type DryRunOption,
  type Hooks,
  type Logger,
  type ReceivedResponse,
  type RequestOptions,
  readResponse,
  type SentRequest,
} from './transport.ts';
export {
  fromFetchRequest,
  fromNodeRequest,
  signWebhook,
  verifyWebhook,
  type WebhookHeaders,
  WebhookVerificationError,
} from './webhooks.ts';
