import { once } from 'node:events';
import { PassThrough, type Readable } from 'node:stream';
import { createGunzip, type Gunzip } from 'node:zlib';
import type * as fhir from 'fhir/r4.js';
import { parseUrl } from '../../../catalog/parseUrl.ts';
import { JsonTooComplex, parseJsonInParts } from '../../../platform/security/json.ts';
import { OutboundFailure, type OutboundResponse } from '../../../platform/security/outbound.ts';
import type { ExportBatch, ExportFile, ExportManifest } from '../../bulkExports.ts';
import type { EmrEndpoint } from '../../connector.ts';
import { noResponse, response_limits, tooBusy } from '../../emrCalls.ts';
import { EmrFailure } from '../../emrFailure.ts';
import { readIssues } from '../transport/call.ts';
import type { Session } from '../transport/client.ts';
import { requireNamedPractice, requirePractice } from '../transport/practice.ts';
import { list } from '../values.ts';

/** `idle_ms`: a download of which nothing arrives for so long is given up. */
export type FileServer = { endpoint: EmrEndpoint; session: Session; base: URL; idle_ms?: number };
export type RequestedFile = { file: ExportFile; manifest: ExportManifest; types: readonly string[] };
type Receive = (batch: ExportBatch) => Promise<void>;

/** Downloads a file line by line. A line and a batch are in memory, never a file. */
export async function readFile(server: FileServer, requested: RequestedFile, receive: Receive): Promise<void> {
  const { file, types } = requested;
  // Servers may export more than was requested.
  if (file.holds === 'records' && !types.includes(file.type)) return;
  const batches = collectBatches(server.endpoint, requested, receive);
  const stream = openLines(batches.addLine);
  try {
    const response = await download(server, requested, stream.receive);
    if (response.truncated) throw incomplete();
    if (response.status !== 200) throw toFileFailure(response);
    await stream.finish();
    await batches.finish();
  } finally {
    stream.close();
  }
}

/** A year of a large practice's records. */
const file_bytes_max = 4_000_000_000;
const download_ms_max = 60 * 60_000;

async function download(
  { endpoint: given, session, base, idle_ms = idle_ms_max }: FileServer,
  { file, manifest }: RequestedFile,
  store: (part: Buffer) => Promise<void>,
): Promise<OutboundResponse> {
  const watch = watchIdle(given.signal, idle_ms);
  const endpoint = { ...given, signal: watch.signal };
  const receive = (part: Buffer) => watch.during(() => store(part));
  try {
    return await downloadFrom({ endpoint, session, base }, { file, manifest }, receive);
  } finally {
    watch.end();
  }
}

/** Longer than requests wait for the next minute, where a vendor limits them. A worker waits. */
const idle_ms_max = 120_000;

/** A signal that also aborts if nothing arrives for some time. The time in which we store a part does not count. */
function watchIdle(signal: AbortSignal, idle_ms: number) {
  const idle = new AbortController();
  const start = () => setTimeout(() => idle.abort(), idle_ms);
  let timer: NodeJS.Timeout | undefined = start();
  return {
    signal: AbortSignal.any([signal, idle.signal]),
    during: async (store: () => Promise<void>) => {
      clearTimeout(timer);
      await store();
      if (timer) timer = start();
    },
    end: () => {
      clearTimeout(timer);
      timer = undefined;
    },
  };
}

/**
 * The token and the headers of an EMR app go to the EMR's own origin only. A redirect is followed once, with neither:
 * vendors redirect to storage that is addressed by a signed URL.
 */
async function downloadFrom(
  { endpoint, session, base }: FileServer,
  { file, manifest }: Pick<RequestedFile, 'file' | 'manifest'>,
  receive: (part: Buffer) => Promise<void>,
): Promise<OutboundResponse> {
  const url = new URL(file.url);
  const own = url.origin === base.origin;
  const response = await session.send(
    {},
    (access_token) =>
      fetchFile(endpoint, url, receive, {
        ...(own && endpoint.headers),
        ...(own && manifest.requires_token !== false && access_token && { authorization: `Bearer ${access_token}` }),
      }),
    // A server on another origin was not sent the token.
    ({ status }) => own && status === 401 && manifest.requires_token !== false,
  );
  if (!redirects.has(response.status)) return response;
  const target = parseUrl(response.headers.location ?? '', url.href);
  if (!target) throw new EmrFailure('refused', 'The EMR redirected a file of its export without an address.');
  const redirected = await fetchFile(endpoint, target, receive, {});
  if (!redirects.has(redirected.status)) return redirected;
  throw new EmrFailure('refused', 'The EMR redirected a file of its export more than once, which is not followed.');
}

const redirects = new Set([301, 302, 303, 307, 308]);

async function fetchFile(
  { outbound, signal }: EmrEndpoint,
  url: URL,
  receive: (part: Buffer) => Promise<void>,
  headers: Record<string, string>,
): Promise<OutboundResponse> {
  try {
    return await outbound.fetch(url, {
      method: 'GET',
      headers: { ...headers, accept: 'application/fhir+ndjson', 'accept-encoding': 'gzip' },
      timeout_ms: download_ms_max,
      signal,
      response_bytes_max: file_bytes_max,
      error_bytes_max: 65_536,
      receive,
    });
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error;
    throw noResponse('The server with the files of the export', error, 'unavailable');
  }
}

function toFileFailure(response: OutboundResponse): EmrFailure {
  const { status } = response;
  if (status === 429 || status === 503) return tooBusy('The EMR', response);
  if (status >= 500) return new EmrFailure('unavailable', `The EMR responded with an error (${status}).`);
  const message = `The EMR did not return a file of its export (${status}).`;
  return new EmrFailure([403, 404, 410].includes(status) ? 'not_found' : 'refused', message);
}

function incomplete(cause?: unknown): EmrFailure {
  return new EmrFailure('unavailable', 'The EMR sent an incomplete file of its export.', { cause });
}

const { bytes_max: line_bytes_max, values_max } = response_limits.record;
const depth_max = 100;
const line_feed = 0x0a;

/** Splits the parts of a download into lines, decompressing it if it starts like gzip. */
function openLines(addLine: (line: Buffer) => Promise<void>) {
  const input = new PassThrough();
  let reading: Promise<void> | undefined;
  let unzipped: Gunzip | undefined;
  const start = (gzip: boolean) => {
    if (gzip) unzipped = input.pipe(createGunzip());
    reading = splitLines(unzipped ?? input, addLine);
    reading.catch(() => {});
    return reading;
  };
  return {
    receive: async (part: Buffer) => {
      const running = reading ?? start(part[0] === 0x1f && part[1] === 0x8b);
      // A failed reader does not take more.
      if (!input.write(part)) await Promise.race([once(input, 'drain'), running]);
    },
    finish: async () => {
      input.end();
      await (reading ?? start(false));
    },
    close: () => {
      input.destroy();
      unzipped?.destroy();
    },
  };
}

async function splitLines(stream: Readable, addLine: (line: Buffer) => Promise<void>): Promise<void> {
  let parts: Buffer[] = [];
  let kept_bytes = 0;
  let total_bytes = 0;
  const endLine = async () => {
    const line = Buffer.concat(parts, kept_bytes);
    parts = [];
    kept_bytes = 0;
    if (line.length > 0) await addLine(line);
  };
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      total_bytes += chunk.length;
      if (total_bytes > file_bytes_max) throw new EmrFailure('refused', 'A file of the export is too large.');
      for (let at = 0; at < chunk.length; ) {
        const end = chunk.indexOf(line_feed, at);
        const part = chunk.subarray(at, end < 0 ? chunk.length : end);
        kept_bytes += part.length;
        if (kept_bytes > line_bytes_max) throw new EmrFailure('refused', 'A record of the export is too large.');
        parts.push(part);
        if (end < 0) break;
        await endLine();
        at = end + 1;
      }
    }
  } catch (error) {
    // gunzip's own: the file is cut off, or is not gzip after all.
    throw error instanceof EmrFailure || !isZlibError(error) ? error : incomplete(error);
  }
  await endLine();
}

function isZlibError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('Z_');
}

/** About 400 KB of patients, and a page of a sync. */
const batch_lines_max = 200;
const batch_bytes_max = 2_000_000;

/** FHIR allows 64. Some servers use longer ones. All IDs of a list are in memory while it is read. */
const id_length_max = 256;

/** Checks the lines of a file and passes them on in batches. */
function collectBatches(endpoint: EmrEndpoint, { file }: RequestedFile, receive: Receive) {
  let lines: string[] = [];
  let bytes = 0;
  let count = 0;
  const flush = async () => {
    const batch = lines;
    lines = [];
    bytes = 0;
    if (batch.length > 0) await receive({ holds: 'records', type: file.type, lines: batch });
  };
  return {
    addLine: async (line: Buffer) => {
      if (line.toString('latin1').trim() === '') return;
      count++;
      const resource = await parseLine(line);
      if (file.holds === 'errors') return receive(readErrors(resource));
      if (file.holds === 'deleted') {
        for (const batch of readDeleted(resource)) await receive(batch);
        return;
      }
      if (resource.resourceType !== file.type || typeof resource.id !== 'string') throw incomplete();
      if (resource.id.length > id_length_max)
        throw new EmrFailure('refused', 'A record of the export has no usable ID.');
      requirePractice(endpoint, resource);
      requireNamedPractice(endpoint, resource);
      lines.push(line.toString());
      bytes += line.length;
      if (lines.length >= batch_lines_max || bytes >= batch_bytes_max) await flush();
    },
    finish: async () => {
      await flush();
      if (file.count !== undefined && file.count !== count) throw incomplete();
    },
  };
}

/** A line that is no record means that the file was cut off, or that a proxy responded in its place. */
async function parseLine(line: Buffer): Promise<fhir.FhirResource> {
  let json: unknown;
  try {
    json = await parseJsonInParts(line, { depth_max, values_max });
  } catch (error) {
    if (error instanceof JsonTooComplex) throw new EmrFailure('refused', 'A record of the export is too large.');
    // The parser's error quotes the record.
    throw incomplete();
  }
  if (typeof (Object(json) as { resourceType?: unknown }).resourceType !== 'string') throw incomplete();
  return json as fhir.FhirResource;
}

/** http://hl7.org/fhir/R4/valueset-issue-type.html */
const issue_types: ReadonlySet<unknown> = new Set(
  [
    'invalid structure required value invariant security login unknown expired forbidden suppressed processing',
    'not-supported duplicate multiple-matches not-found deleted too-long code-invalid extension too-costly',
    'business-rule conflict transient lock-error no-store exception timeout incomplete throttled informational',
  ].flatMap((codes) => codes.split(' ')),
);

/** Codes only: texts could name patients. */
function readErrors(resource: fhir.FhirResource): ExportBatch {
  const issues = resource.resourceType === 'OperationOutcome' ? readIssues(resource) : [];
  const codes = issues.map((issue) => (issue_types.has(issue?.code) ? String(issue?.code) : 'unknown'));
  const harmless = (severity: unknown) => severity === 'information' || severity === 'warning';
  return { holds: 'errors', codes, lacks_records: issues.some((issue) => !harmless(issue?.severity)) };
}

/** Each line is a Bundle with the requests by which the records would be deleted. */
function readDeleted(resource: fhir.FhirResource): ExportBatch[] {
  const by_type = new Map<string, string[]>();
  for (const entry of resource.resourceType === 'Bundle' ? list(resource.entry) : []) {
    const { method, url } = Object(entry.request) as { method?: unknown; url?: unknown };
    const [, type, id] = /(?:^|\/)([A-Z][A-Za-z]+)\/([A-Za-z0-9.-]{1,64})$/.exec(String(url)) ?? [];
    if (method !== 'DELETE' || type === undefined || id === undefined) continue;
    by_type.set(type, [...(by_type.get(type) ?? []), id]);
  }
  return [...by_type].map(([type, lines]) => ({ holds: 'deleted', type, lines }));
}
