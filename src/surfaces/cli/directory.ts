import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { StartFailure } from '../../catalog/errors.ts';
import type { Config } from '../../catalog/settings/config.ts';
import { loadConnectors } from '../../emr/outside/outsideConnectors.ts';
import { emrRules } from '../../platform/security/addresses.ts';
import { createOutbound, formatDestination } from '../../platform/security/outbound.ts';
import type { Audit } from '../../product/context.ts';
import { type ImportResult, importFile, type Omission, omissions } from '../../product/directory/importPractices.ts';
import { explainFailure, importUrl } from '../../product/directory/refreshDirectory.ts';
import {
  type DirectorySource,
  failImport,
  type Import,
  listSources,
  removeSource,
  startImport,
} from '../../product/directory/sources.ts';
import { command_line, withAudit } from './audit.ts';
import { type JsonOption, printResult } from './output.ts';

const omission_texts: Record<Omission, string> = {
  without_name: 'without a name',
  without_address: 'without an address',
  private_address: 'at a private address',
  invalid_address: 'at an address that is not valid',
  unsupported: 'of an EMR or a version that is not supported',
};

/** Imports a list into the directory. Works whether or not the service is running. */
export async function importDirectoryCommand(
  config: Config,
  list: string,
  values: JsonOption & { 'accept-removals'?: boolean },
): Promise<void> {
  const is_url = /^https?:\/\//i.test(list);
  const name = is_url ? list : resolve(list);
  if (!is_url && !(await stat(name).catch(() => undefined))?.isFile()) {
    throw new StartFailure(`${list} is neither a file nor an https URL.`);
  }
  const accept_removals = values['accept-removals'] ?? false;
  const { connectors } = await loadConnectors(config);
  const outbound = createOutbound(emrRules(config));
  try {
    const { practices, left_out, removed, held_back } = await withAudit(config, async (db, audit) => {
      const current = await startImport(db.system, name, is_url ? name : null);
      if (!current) throw new StartFailure('This list is being imported by another process.');
      const ctx = { db, config, connectors, emr_outbound: outbound };
      try {
        const result = is_url
          ? await importUrl(ctx, current, name, { if_changed: false, accept_removals })
          : await importFile(ctx, current, name, { etag: null, accept_removals });
        if (!result) throw new StartFailure('The server sent no list, although none was requested conditionally.');
        const recorded = { action: 'directory.import', outcome: 'imported', source: current };
        await record(audit, recorded, { ...result, accept_removals });
        return result;
      } catch (error) {
        const failure = explainFailure(error);
        await failImport(db.system.pooled, current, failure ?? 'An unexpected error occurred.');
        await record(audit, { action: 'directory.import', outcome: 'failed', source: current });
        throw failure === undefined ? error : new StartFailure(`Nothing was imported. ${failure}`, { cause: error });
      }
    });
    const json = { source: name, practices, left_out, removed, held_back: held_back ?? null };
    printResult(values, json, describeResult({ practices, left_out, removed, held_back }));
  } finally {
    await outbound.close();
  }
}

type Recorded = { action: string; outcome: string; source: Pick<Import, 'source_id' | 'name'> };

function record(
  audit: Audit,
  { action, outcome, source: { source_id, name } }: Recorded,
  detail: Record<string, unknown> = {},
): Promise<void> {
  const entry = { client_id: null, ...command_line, action, outcome };
  return audit.record({ ...entry, subject: source_id, detail: { source: formatDestination(name), ...detail } });
}

function describeResult({ practices, left_out, removed, held_back }: ImportResult): string {
  const lines = [
    `Practices: ${practices}. Removed: ${removed}.`,
    ...omissions
      .filter((each) => left_out[each] > 0)
      .map((each) => `Left out: ${left_out[each]} ${omission_texts[each]}.`),
  ];
  if (held_back) {
    const { missing, stored } = held_back;
    lines.push(
      `${missing} of ${stored} practices are missing in the list. None was removed, in case the list is incomplete.`,
      'If they are gone, import it again with --accept-removals.',
    );
  }
  return `${lines.join('\n')}\n`;
}

export async function listDirectoryCommand(config: Config, output: JsonOption): Promise<void> {
  const sources = await withAudit(config, async (db, audit) => {
    const entry = { client_id: null, ...command_line, action: 'directory.list', outcome: 'listed' };
    await audit.record(entry);
    return listSources(db.system.pooled);
  });
  const lists = sources.map(({ id: _id, name, url, held_missing, held_stored, ...source }) => ({
    source: name,
    refreshed: url !== null,
    ...source,
    held_back: held_missing === null ? null : { missing: held_missing, stored: held_stored },
  }));
  printResult(output, { sources: lists }, `${sources.map(describeSource).join('\n') || 'No lists.'}\n`);
}

function describeSource({
  name,
  practices,
  imported_at,
  next_read_at,
  failure,
  held_missing,
}: DirectorySource): string {
  const day = (at: Date | null) => at?.toISOString().slice(0, 10) ?? 'never';
  return [
    ...[name, `${practices} practices`, `imported ${day(imported_at)}`],
    ...(next_read_at ? [`next ${day(next_read_at)}`] : []),
    ...(failure === null ? [] : [`FAILED: ${failure}`]),
    ...(held_missing === null ? [] : [`${held_missing} removals held back`]),
  ].join('  ');
}

export async function removeDirectoryCommand(config: Config, list: string, output: JsonOption): Promise<void> {
  const removed = await withAudit(config, async (db, audit) => {
    const sources = await listSources(db.system.pooled);
    const source = sources.find(({ name }) => name === list) ?? sources.find(({ name }) => name === resolve(list));
    if (!source) throw new StartFailure('There is no such list. See: chartwire directory list');
    await removeSource(db.system.pooled, source.name);
    const recorded = {
      action: 'directory.remove',
      outcome: 'removed',
      source: { source_id: source.id, name: source.name },
    };
    await record(audit, recorded, { practices: source.practices });
    return source;
  });
  printResult(output, { source: removed.name, practices: removed.practices }, 'Removed.\n');
}
