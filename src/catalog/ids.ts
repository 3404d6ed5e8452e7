import { randomBytes } from 'node:crypto';
import { v7 } from 'uuid';

/** A new record id: UUID v7 without hyphens, so that ids sort by their time of creation. */
export function newId(): string {
  return v7(undefined, id_bytes).toString('hex');
}

/** Overwritten by each id: as bytes, an id takes half the time that its text with hyphens takes. */
const id_bytes = Buffer.alloc(16);

/** The smallest possible id of a time, which ids start with. None is older than 1970. */
export function firstIdAt(moment: Date): string {
  return Math.max(0, moment.getTime()).toString(16).padStart(12, '0').padEnd(32, '0');
}

/** When an id was created, in milliseconds. */
export function timeOfId(id: string): number {
  return Number.parseInt(id.slice(0, 12), 16);
}

/** Converts a UUID, with or without hyphens, to a record id. Undefined for any other text. */
export function parseId(text: string): string | undefined {
  const bare = text.replaceAll('-', '').toLowerCase();
  return /^[0-9a-f]{32}$/.test(bare) ? bare : undefined;
}

/** A job id has at most 15 digits, so that it is exact as a JavaScript number. */
export const job_id_max = 999_999_999_999_999;

/** Undefined for any text that is not a job id. */
export function parseJobId(text: string): number | undefined {
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** Prefixes that identify the kind of a token. The rest is random. */
const prefixes = {
  live_client_id: 'ci_live_',
  live_client_secret: 'cs_live_',
  test_client_id: 'ci_test_',
  test_client_secret: 'cs_test_',
  link_token: 'lt_',
  public_token: 'pt_',
  access_token: '',
  access_token_reference_id: 'at_ref_',
  webhook_endpoint: 'wh_',
  operator_session: 'os_',
  invitation: 'oi_',
  operator_device: 'od_',
  receiver: 'rc_',
  page_state: '',
  page_window: '',
  practice_pass: 'pp_',
  practice_session: 'ps_',
} as const;

export type TokenKind = keyof typeof prefixes;

/** A new token with 256 random bits, usable in headers and URLs. */
export function newToken(kind: TokenKind): string {
  return prefixes[kind] + randomBytes(32).toString('base64url');
}

/** A new public identifier. Shorter than a token, because it gives no access. */
export function newReference(kind: TokenKind): string {
  return prefixes[kind] + randomBytes(12).toString('hex');
}

/** A webhook secret in the format of Standard Webhooks. The prefix is part of the secret. */
export function newWebhookSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}
