import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StartFailure } from '../../catalog/errors.ts';
import { formatDestination, OutboundFailure } from '../../platform/security/outbound.ts';
import type { Context } from '../context.ts';
import { type ImportContext, type ImportResult, importFile } from './importPractices.ts';
import { ListFault } from './practiceLists.ts';
import { failImport, finishUnchanged, type Import, startDueImport } from './sources.ts';

/** The largest list known has 95 MB and takes five minutes. */
const download_bytes_max = 1_000_000_000;
const download_ms_max = 15 * 60_000;

type DownloadContext = ImportContext & Pick<Context, 'emr_outbound'>;
type ImportOptions = { accept_removals: boolean; signal?: AbortSignal | undefined };

/** Downloads a list and imports it. Undefined if it has not changed since the last import. */
export async function importUrl(
  ctx: DownloadContext,
  current: Import,
  url: string,
  { if_changed, ...options }: ImportOptions & { if_changed: boolean },
): Promise<ImportResult | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'chartwire-directory-'));
  try {
    const file = join(folder, 'list');
    const downloaded = await download(ctx, url, file, if_changed ? current.etag : null);
    if (downloaded !== 'unchanged') return await importFile(ctx, current, file, { ...options, etag: downloaded.etag });
    await finishUnchanged(ctx.db.system.pooled, current);
    return undefined;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function download(
  { emr_outbound }: DownloadContext,
  url: string,
  to: string,
  etag: string | null,
): Promise<'unchanged' | { etag: string | null }> {
  const file = await open(to, 'w', 0o600);
  try {
    const response = await emr_outbound.fetch(url, {
      method: 'GET',
      headers: {
        accept: 'application/json, text/csv;q=0.9, */*;q=0.5',
        ...(etag !== null && { 'if-none-match': etag }),
      },
      timeout_ms: download_ms_max,
      response_bytes_max: download_bytes_max,
      error_bytes_max: 4096,
      receive: async (part) => void (await file.write(part)),
    });
    if (response.status === 304) return 'unchanged';
    if (response.status !== 200) throw new ListFault(explainStatus(response.status, response.headers.location));
    if (response.truncated) throw new ListFault('has more than 1 GB.');
    return { etag: response.headers.etag ?? null };
  } finally {
    await file.close();
  }
}

function explainStatus(status: number, location: string | undefined): string {
  if (status >= 300 && status < 400 && location !== undefined) {
    return `redirects to another address (status ${status}). Import that one instead.`;
  }
  return `was not sent: the server responded with status ${status}.`;
}

/** Why an import failed, for operators; undefined for an error of ours. */
export function explainFailure(error: unknown): string | undefined {
  if (error instanceof ListFault) return `The list ${error.message}`;
  return error instanceof OutboundFailure || error instanceof StartFailure ? error.message : undefined;
}

/** Reads the lists that are due again, of which nothing is stored if they have not changed. */
export async function refreshDirectory(ctx: Context): Promise<void> {
  for (let current = await due(ctx); current; current = await due(ctx)) await refresh(ctx, current);
}

function due({ db }: Context): Promise<Import | undefined> {
  return startDueImport(db.system);
}

async function refresh(ctx: Context, current: Import): Promise<void> {
  const record = (outcome: string, detail: Record<string, unknown>) =>
    ctx.audit.record({
      ...{ client_id: null, actor_kind: 'worker', actor: 'directory', action: 'directory.import', outcome },
      ...{ subject: current.source_id, detail: { source: formatDestination(current.name), ...detail } },
    });
  try {
    const options = { if_changed: true, accept_removals: false };
    const result = await importUrl(ctx, current, current.url ?? '', options);
    if (result?.held_back)
      ctx.log.warn({ reason: current.source_id }, 'a list of practices lacks too many; none was removed');
    await record(result ? 'imported' : 'unchanged', result ? { ...result } : {});
  } catch (error) {
    await failImport(ctx.db.system.pooled, current, explainFailure(error) ?? 'An unexpected error occurred.');
    await record('failed', {});
    if (explainFailure(error) === undefined) throw error;
    ctx.log.warn({ reason: current.source_id, err: error }, 'a list of practices could not be read');
  }
}
