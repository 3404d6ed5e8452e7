import { parseUrl } from '../../../catalog/parseUrl.ts';
import { day_ms, isStorable, parseInstant } from '../../../platform/time/days.ts';
import type { ExportFile, ExportManifest } from '../../bulkExports.ts';
import { EmrFailure } from '../../emrFailure.ts';
import { unreadable_response } from '../transport/call.ts';

type StatedFile = { type?: unknown; url?: unknown; count?: unknown };
type StatedManifest = {
  transactionTime?: unknown;
  requiresAccessToken?: unknown;
  output?: unknown;
  deleted?: unknown;
  error?: unknown;
};

/**
 * What the pages of a manifest say together. Errors come first, then deletions. Fails if files of another origin need a
 * token: ours is sent to the EMR only.
 */
export function toManifest(pages: readonly unknown[], base: URL): ExportManifest {
  const stated = pages.map((page) => Object(page) as StatedManifest);
  const [first] = stated;
  if (!Array.isArray(first?.output)) throw new EmrFailure('unavailable', unreadable_response);
  const as_of = requireInstant(first.transactionTime);
  const requires_token = typeof first.requiresAccessToken === 'boolean' ? first.requiresAccessToken : undefined;
  const files = [
    ...stated.flatMap(({ error }) => toFiles(error, 'errors', base)),
    ...stated.flatMap(({ deleted }) => toFiles(deleted, 'deleted', base)),
    ...stated.flatMap(({ output }) => toFiles(output, 'records', base)),
  ];
  if (requires_token && files.some(({ url }) => new URL(url).origin !== base.origin)) {
    const message = 'The EMR keeps the files of its export on another host, and requires our token there.';
    throw new EmrFailure('refused', `${message} It is not sent.`);
  }
  return { as_of, requires_token, names_deleted: stated.some(({ deleted }) => Array.isArray(deleted)), files };
}

/**
 * The time whose state the files have, as the EMR wrote it: the next export of changes starts there, so that a guess could
 * miss changes.
 */
function requireInstant(stated: unknown): string {
  const ms = typeof stated === 'string' && instant.test(stated) ? parseInstant(stated) : undefined;
  if (typeof stated !== 'string' || ms === undefined || !isStorable(ms)) {
    const message = 'The EMR does not say which time its export is of: transactionTime is not a FHIR instant.';
    throw new EmrFailure('refused', message);
  }
  if (ms > Date.now() + ahead_max_ms) {
    throw new EmrFailure('refused', 'The EMR says that its export is of a time in the future (transactionTime).');
  }
  return stated;
}

/** http://hl7.org/fhir/R4/datatypes.html#instant: to the second, with an offset. */
const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;
/** A clock in a wrong time zone. Changes up to a later time would not be exported before the next export of everything. */
const ahead_max_ms = day_ms;

function toFiles(stated: unknown, holds: ExportFile['holds'], base: URL): ExportFile[] {
  if (!Array.isArray(stated)) return [];
  return stated.map((each) => {
    const { type, url, count }: StatedFile = Object(each);
    const parsed = typeof url === 'string' ? parseUrl(url, base.href) : undefined;
    if (!parsed || typeof type !== 'string') throw new EmrFailure('unavailable', unreadable_response);
    return { holds, type, url: parsed.href, count: Number.isSafeInteger(count) ? Number(count) : undefined };
  });
}
