import { gzipSync } from 'node:zlib';
import type { Resource } from '@medplum/fhirtypes';
import type { BulkSwitches } from './bulkSwitches.ts';
import type { FaultSwitches, HttpResponse } from './faults.ts';
import { json, outcome } from './fhirRoutes.ts';

type ExportedFile = { holds: 'output' | 'deleted' | 'error'; type: string; lines: string[] };

/** One export. It runs until the client ends it. */
export type TestExport = {
  path: string;
  since: string | null;
  types: string[];
  polls_left: number;
  as_of: string;
  files: ExportedFile[];
  /** Changes with each expiry. */
  version: number;
  running: boolean;
};

export type BulkServer = {
  /** All exports so far, and the most that ran at the same time. */
  exports: TestExport[];
  readonly running_most: number;
  /** Forgets all exports, as a restart of the server does. */
  forget(): void;
  noteDeleted(type: string, id: string): void;
  /** Undefined if the request has nothing to do with exports. `authorized`: it has a valid token. */
  handle(request: BulkRequest, authorized: boolean): Promise<HttpResponse | undefined>;
};

type BulkRequest = { method: string; url: URL; headers: Record<string, string | undefined> };

/** Whether a record names this practice. */
function namesPractice(record: Resource, param: string | undefined, practice: string): boolean {
  const { extension = [] } = record as { extension?: { url?: string; valueString?: string }[] };
  return extension.some(({ url, valueString }) => url?.endsWith(`/${param}`) === true && valueString === practice);
}

export function createBulkServer(
  faults: FaultSwitches,
  base: string,
  list: (type: string) => Promise<Resource[]>,
): BulkServer {
  const exports: TestExport[] = [];
  const deleted: { type: string; id: string; at: string }[] = [];
  let running_most = 0;
  let forgotten = 0;
  const { origin, pathname: mount } = new URL(base);

  async function kickOff(switches: BulkSwitches, { url, headers }: BulkRequest): Promise<HttpResponse> {
    if (switches.forbidden) return outcome(403, 'forbidden');
    if (headers.prefer !== 'respond-async') return outcome(400, 'required');
    const since = url.searchParams.get('_since');
    const types = url.searchParams.get('_type')?.split(',') ?? [];
    const as_of = new Date(Date.now() - switches.copy_age_ms).toISOString();
    const files: ExportedFile[] = [];
    for (const type of types) {
      const param = switches.practice_param;
      const practice = param === undefined ? null : url.searchParams.get(param);
      const changed = (await list(type))
        .filter((each) => practice === null || namesPractice(each, param, practice))
        .filter(({ meta }) => since === null || (meta?.lastUpdated ?? '') >= since);
      for (let n = 0; n < changed.length; n += switches.lines_per_file) {
        const lines = changed.slice(n, n + switches.lines_per_file).map((each) => JSON.stringify(each));
        files.push({ holds: 'output', type, lines });
      }
    }
    const gone = deleted.filter(({ at, type }) => since !== null && at >= since && types.includes(type));
    const entry = gone.map(({ type, id }) => ({ request: { method: 'DELETE', url: `${type}/${id}` } }));
    const bundle = { resourceType: 'Bundle', type: 'transaction', entry };
    if (gone.length > 0) files.push({ holds: 'deleted', type: 'Bundle', lines: [JSON.stringify(bundle)] });
    if (switches.errors.length > 0) {
      const issue = switches.errors.map((each) => ({ ...each, diagnostics: 'Patient Synthetic Sample' }));
      const lines = [JSON.stringify({ resourceType: 'OperationOutcome', issue })];
      files.push({ holds: 'error', type: 'OperationOutcome', lines });
    }
    const path = url.pathname.slice(mount.length + 1);
    exports.push({ path, since, types, polls_left: switches.polls, as_of, files, version: 0, running: true });
    running_most = Math.max(running_most, exports.filter(({ running }) => running).length);
    const location = `${base}/bulk/status/${exports.length - 1}`;
    return { status: 202, headers: { 'content-location': location }, body: '' };
  }

  function status(switches: BulkSwitches, method: string, n: number): HttpResponse {
    const known = n < forgotten ? undefined : exports[n];
    if (!known?.running) return outcome(404, 'not-found');
    if (method === 'DELETE') {
      known.running = false;
      return { status: 202, headers: {}, body: '' };
    }
    if (known.polls_left-- > 0) {
      const { retry_after } = switches;
      const headers = { 'x-progress': 'in progress', ...(retry_after !== undefined && { 'retry-after': retry_after }) };
      return { status: 202, headers, body: '' };
    }
    const files_base = `${switches.files_origin ?? origin}${mount}/bulk/files/${n}`;
    const name = (holds: ExportedFile['holds']) =>
      known.files.flatMap((file, at) => {
        const url = `${files_base}/${at}?v=${known.version}`;
        return file.holds === holds ? [{ type: file.type, url, count: file.lines.length }] : [];
      });
    return json(200, {
      ...(switches.transaction_time !== null && { transactionTime: switches.transaction_time ?? known.as_of }),
      request: `${base}/${known.path}`,
      requiresAccessToken: switches.requires_token,
      output: name('output'),
      error: name('error'),
      ...(switches.names_deleted && { deleted: name('deleted') }),
    });
  }

  function file(switches: BulkSwitches, { url, headers }: BulkRequest, authorized: boolean): HttpResponse {
    const [, , kind, n, at, hop = '0'] = url.pathname.slice(mount.length).split('/');
    const stored = kind === 'storage';
    // Storage refuses requests that authenticate twice.
    if (stored && headers.authorization !== undefined) return outcome(400, 'security');
    if (!stored && switches.requires_token && !authorized) return outcome(401, 'login');
    const known = exports[Number(n)];
    const stored_file = known?.files[Number(at)];
    if (!known?.running || !stored_file) return outcome(404, 'not-found');
    if (switches.redirects_to !== undefined && Number(hop) < switches.redirects) {
      const location = `${switches.redirects_to}${mount}/bulk/storage/${n}/${at}/${Number(hop) + 1}`;
      return { status: 307, headers: { location }, body: '' };
    }
    if (url.searchParams.has('v') && switches.expired > 0) {
      switches.expired--;
      known.version++;
      return outcome(403, 'expired');
    }
    const text = `${stored_file.lines.join('\n')}\n`;
    const cut = switches.truncated > 0;
    if (cut) switches.truncated--;
    const body = Buffer.from(cut ? text.slice(0, -text.length / 4) : text);
    const type = { 'content-type': 'application/fhir+ndjson' };
    const zipped = switches.gzip && headers['accept-encoding']?.includes('gzip') === true;
    return zipped
      ? { status: 200, headers: { ...type, 'content-encoding': 'gzip' }, body: gzipSync(body) }
      : { status: 200, headers: type, body };
  }

  return {
    exports,
    get running_most() {
      return running_most;
    },
    forget: () => {
      forgotten = exports.length;
      for (const each of exports) each.running = false;
    },
    noteDeleted: (type, id) => void deleted.push({ type, id, at: new Date().toISOString() }),
    handle: async (request, authorized) => {
      const switches = faults.bulk;
      const below = request.url.pathname.slice(mount.length + 1);
      if (!switches) return undefined;
      if (below.startsWith('bulk/files/') || below.startsWith('bulk/storage/'))
        return file(switches, request, authorized);
      if (!authorized) return undefined;
      if (below.endsWith('/$export')) return kickOff(switches, request);
      if (below.startsWith('bulk/status/')) return status(switches, request.method, Number(below.split('/')[2]));
      if (below === 'Group') {
        const entry = switches.groups.map((id) => ({ resource: { resourceType: 'Group', id } }));
        return json(200, { resourceType: 'Bundle', type: 'searchset', total: entry.length, entry });
      }
      return undefined;
    },
  };
}
