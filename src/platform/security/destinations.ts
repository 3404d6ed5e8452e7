import { parseUrl } from '../../catalog/parseUrl.ts';

/** What a destination is for: where events, people with tokens in their address bar, or EMR credentials are sent. */
export type DestinationKind = 'webhook' | 'callback_url' | 'frame_origin' | 'emr_app' | 'emr';

/** A destination that was added (`old` is null), removed (`new` is null) or replaced. Part of an audit record. */
export type DestinationChange = { kind: DestinationKind; old: string | null; new: string | null };

const masked = '***';
const secret_length_min = 16;

/**
 * A URL as the audit log and alerts show it: scheme, host and path. User info, query and fragment are left out, and path
 * segments that look like a secret are masked: many receivers authenticate a sender by the URL alone.
 */
export function destinationOf(text: string): string {
  const url = parseUrl(text);
  // Names of hosts, with or without `*.`, are shown as they are.
  if (!url) return text.slice(0, 200);
  const path = url.pathname.split('/').map((segment) => (looksSecret(segment) ? masked : segment));
  return `${url.protocol}//${url.host}${url.pathname === '/' ? '' : path.join('/')}`;
}

/** The change from one URL to another, or null for none. Empty if nothing changed. */
export function destinationChange(
  kind: DestinationKind,
  before: string | null | undefined,
  after: string | null | undefined,
): DestinationChange[] {
  const [old_url, new_url] = [before ?? null, after ?? null];
  if (old_url === new_url) return [];
  return [{ kind, old: old_url && destinationOf(old_url), new: new_url && destinationOf(new_url) }];
}

/** The same for lists of URLs. */
export function destinationChanges(
  kind: DestinationKind,
  before: readonly string[],
  after: readonly string[],
): DestinationChange[] {
  const removed = before.filter((each) => !after.includes(each));
  const added = after.filter((each) => !before.includes(each));
  return [
    ...removed.flatMap((each) => destinationChange(kind, each, null)),
    ...added.flatMap((each) => destinationChange(kind, null, each)),
  ];
}

/** Long enough to be one, and not only words: with a digit, or with capitals after small letters. */
function looksSecret(segment: string): boolean {
  return segment.length >= secret_length_min && (/\d/.test(segment) || /[a-z][A-Z]/.test(segment));
}
