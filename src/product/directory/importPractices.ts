import { createHash } from 'node:crypto';
import type { Config } from '../../catalog/settings/config.ts';
import type { Connector } from '../../emr/connector.ts';
import { checkUrl, determineReach, emrRules, type UrlRules } from '../../platform/security/addresses.ts';
import type { Context } from '../context.ts';
import { isPlausible } from '../records/sync.ts';
import { readAddress, toAddressKey, toWords } from './practiceKeys.ts';
import { ListFault, type ReadPractice, readPractices } from './practiceLists.ts';
import { countMissing, type NewPractice, removeMissing, storePractices } from './practices.ts';
import { finishImport, type Import } from './sources.ts';
import { toState } from './states.ts';

export type ImportContext = Pick<Context, 'db' | 'config' | 'connectors'>;

/** Why practices of a list were left out, and how many. */
export const omissions = [
  'without_name',
  'without_address',
  'private_address',
  'invalid_address',
  'unsupported',
] as const;
export type Omission = (typeof omissions)[number];

export type ImportResult = {
  practices: number;
  left_out: Record<Omission, number>;
  removed: number;
  /** Nothing was removed, because too many practices would have been. */
  held_back: { missing: number; stored: number } | undefined;
};

const batch_size = 500;

/**
 * Imports a file into the directory. A file with a fault, or without any practice, changes nothing. Practices that it no
 * longer contains are removed, unless they are too many to be plausible.
 */
export async function importFile(
  ctx: ImportContext,
  current: Import,
  file: string,
  { etag, accept_removals }: { etag: string | null; accept_removals: boolean },
): Promise<ImportResult> {
  const { system } = ctx.db;
  const left_out = Object.fromEntries(omissions.map((each) => [each, 0])) as Record<Omission, number>;
  let batch: NewPractice[] = [];
  let usable = 0;
  const store = async () => {
    await storePractices(system, current, batch);
    usable += batch.length;
    batch = [];
  };
  for await (const each of readPractices(file, ctx.connectors)) {
    const practice = toPractice(ctx.config, each);
    if (typeof practice === 'string') left_out[practice] += 1;
    else batch.push(practice);
    if (batch.length === batch_size) await store();
  }
  if (batch.length > 0) await store();
  if (usable === 0) throw new ListFault(explainEmpty(left_out));
  const counts = await countMissing(system.pooled, current);
  const held_back = accept_removals || isPlausible(counts, ctx.config) ? undefined : counts;
  if (!held_back && counts.missing > 0) await removeMissing(system.pooled, current);
  await finishImport(system.pooled, current, { etag, held_back });
  const removed = held_back ? 0 : counts.missing;
  return { practices: counts.stored - removed, left_out, removed, held_back };
}

function explainEmpty(left_out: Record<Omission, number>): string {
  const listed = Object.values(left_out).reduce((sum, count) => sum + count, 0);
  const count = listed === 0 ? 'none' : `${listed}, but none with a name and an address that can be used`;
  return `must contain practices: it has ${count}.`;
}

/** A practice as it is stored, or why it is left out. */
function toPractice(config: Config, { listed, connector }: ReadPractice): NewPractice | Omission {
  if (toWords(listed.name).length === 0) return 'without_name';
  if (listed.address === null) return 'without_address';
  const address = readAddress(listed.address);
  if (address === undefined) return 'invalid_address';
  const rules = emrRules(config);
  if (isPrivate(new URL(address), rules)) return 'private_address';
  const unusable = explainUnusable(connector, address, listed.version, rules);
  if (unusable) return unusable;
  const { key, aliases, city, postal_code, npi, parent, search_params } = listed;
  return {
    source_key: key.length > key_chars_max ? createHash('sha256').update(key).digest('hex') : key,
    name: listed.name.slice(0, name_chars_max),
    aliases: [...new Set(aliases)].filter((alias) => alias !== listed.name).slice(0, aliases_max),
    ...{ city, state: toState(listed.state), postal_code, npi, parent, search_params },
    connector: connector?.name ?? '',
    address,
    address_key: toAddressKey(address),
  };
}

/** A longer one does not fit into an index. */
const key_chars_max = 300;
const name_chars_max = 500;
const aliases_max = 20;

function explainUnusable(
  connector: Connector | undefined,
  address: string,
  version: string | null,
  rules: UrlRules,
): Omission | undefined {
  if (!connector || connector.practice_lists?.isSupported(address, version) === false) return 'unsupported';
  const checked = checkUrl(address, rules);
  return 'refused' in checked || connector.refuseAddress(checked) !== undefined ? 'invalid_address' : undefined;
}

/** Names that only resolve in the network of a practice, and addresses in it. */
function isPrivate(url: URL, rules: UrlRules): boolean {
  if (determineReach(url, rules) !== 'public') return false;
  const host = url.hostname.replace(/\.$/, '');
  const single_label = !host.includes('.') && !host.startsWith('[');
  const checked = checkUrl(`https://${url.host}`, rules);
  return single_label || private_suffixes.test(host) || 'refused' in checked;
}

const private_suffixes = /\.(local|localdomain|internal|intranet|lan|corp|home|home\.arpa|localhost)$/;
