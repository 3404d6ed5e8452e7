export type { FollowOptions } from './changes.ts';
export { Chartwire, type ChartwireOptions } from './client.ts';
export * from './errors.ts';
export type * from './generated/types.gen.ts';
export type { WaitOptions } from './jobs.ts';
export type { PagePromise } from './paging.ts';
export type { DryRunOption, RequestOptions } from './transport.ts';
export {
  fromFetchRequest,
  fromNodeRequest,
  verifyWebhook,
  type WebhookHeaders,
  WebhookVerificationError,
} from './webhooks.ts';
