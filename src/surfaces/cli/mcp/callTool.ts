import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { resolve, sep } from 'node:path';
import { ChartwireError, JobFailedError } from '../../../../sdk/src/errors.ts';
import type { Job } from '../../../../sdk/src/generated/types.gen.ts';
import { requestAndWaitForEvent, waitForJob } from '../../../../sdk/src/jobs.ts';
import type { Call } from '../../../../sdk/src/transport.ts';
import { explained, type Service } from '../client/service.ts';
import { CommandFailure } from '../output.ts';
import type { ApiTool } from './tools.ts';

export type CallOptions = {
  /** How long a write waits for its outcome. */
  wait_ms: number;
  /** The folder that documents may be read from. */
  files?: string | undefined;
  signal: AbortSignal;
};

type Arguments = Record<string, unknown>;
type Accepted = Record<string, unknown> & { job_id?: number };

/** Calls the operation of a tool and returns the text for the model. Throws a `CommandFailure` that says what to do. */
export async function callTool(
  service: Service,
  tool: ApiTool,
  args: Arguments,
  options: CallOptions,
): Promise<string> {
  const call = await composeCall(tool, args, options.files);
  const key = typeof args.idempotency_key === 'string' ? args.idempotency_key : randomUUID();
  const accepted = await explained(service.credentials, () =>
    service.transport.request<Accepted>(call, { idempotencyKey: key, signal: options.signal }),
  ).catch((error: unknown) => {
    throw isLost(error) && !tool.method.reads ? unknownOutcome(error, call, key) : error;
  });
  const result = tool.method.reads ? accepted : await awaitOutcome(service, tool, accepted, options);
  return boundResult(result, tool.method.reads ? listFilters(tool) : []);
}

/** The arguments that select and page records. */
function listFilters({ places }: ApiTool): string[] {
  return [...places].filter(([, place]) => place === 'query' || place === 'body').map(([name]) => name);
}

async function composeCall({ method, places, file_field }: ApiTool, args: Arguments, files?: string): Promise<Call> {
  const unknown = Object.keys(args).filter((name) => !places.has(name));
  if (unknown.length > 0) {
    throw new CommandFailure(`Unknown argument: ${unknown.join(', ')}. Known: ${[...places.keys()].join(', ')}.`);
  }
  const at = (place: string) => Object.entries(args).filter(([name]) => places.get(name) === place);
  const body = Object.fromEntries(at('body'));
  if (file_field !== undefined) body[file_field] = await readFileArgument(file_field, args, files);
  return {
    method: method.verb,
    path: fillPath(method.path, args),
    query: Object.fromEntries(at('query')),
    ...((method.body !== undefined || method.empty_body) && { body }),
    form: method.form,
    reads: method.reads,
  };
}

function fillPath(template: string, args: Arguments): string {
  return template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(args[name] ?? '');
    // A dot segment would lead to another endpoint.
    if (/^\.{0,2}$/.test(value)) throw new CommandFailure(`${name} is required: it identifies the record.`);
    return encodeURIComponent(value);
  });
}

async function readFileArgument(field: string, args: Arguments, files: string | undefined): Promise<Blob> {
  const [content, path] = [args[`${field}_base64`], args[`${field}_path`]];
  if (typeof content === 'string' && path === undefined) return new Blob([Buffer.from(content, 'base64')]);
  if (typeof path === 'string' && content === undefined && files !== undefined) {
    return new Blob([new Uint8Array(await readDocument(files, path))]);
  }
  const or_path = files === undefined ? '' : ` or ${field}_path, but not both`;
  throw new CommandFailure(`${field}_base64${or_path} is required, as a string.`);
}

/**
 * The accepted request with its outcome. A wait that ends early, for whatever reason, is not an error: the job
 * continues.
 */
async function awaitOutcome(
  { credentials, transport }: Service,
  { method }: ApiTool,
  accepted: Accepted,
  { wait_ms, signal }: CallOptions,
): Promise<object> {
  const { job_id } = accepted;
  const limits = { timeoutMs: wait_ms, signal };
  try {
    if (typeof job_id === 'number' && credentials.access_token !== undefined) {
      return { ...accepted, event: await waitForJob(transport, job_id, limits) };
    }
    if (method.outcome?.job_id !== 'never') return accepted;
    const { match: field, all: types } = method.outcome;
    const send = async () => ({ [field]: String(accepted[field]) });
    return { ...accepted, event: await requestAndWaitForEvent(transport, send, { field, types }, limits) };
  } catch (error) {
    if (error instanceof JobFailedError) throw failed(error);
    if (!(error instanceof ChartwireError)) throw error;
    return { ...accepted, outcome: await waiting(transport, job_id, signal) };
  }
}

function failed({ message, jobId, code, outcome, reasons, event }: JobFailedError): CommandFailure {
  const facts = { outcome, job_id: jobId, code, reasons, event_type: event.type, data: event.data };
  return new CommandFailure(`${message}\n${boundResult(facts, [])}`, 'job_failed');
}

/** The state of a job that is still running, as far as it can be read. */
async function waiting(transport: Service['transport'], job_id: number | undefined, signal: AbortSignal) {
  if (job_id === undefined) {
    return { status: 'unknown', next: 'It was accepted and continues. Find its event with list_webhook_events.' };
  }
  const next = `It was accepted and continues. Follow it with get_job and job_id ${job_id}. Do not send it again.`;
  const call = { method: 'GET', path: `/v1/jobs/${job_id}` } as const;
  const response = await transport.request<{ job: Job }>(call, { signal }).catch(() => undefined);
  return { status: response?.job.status ?? 'unknown', next };
}

function isLost(error: unknown): error is CommandFailure {
  return error instanceof CommandFailure && error.exit === 'unreachable';
}

function unknownOutcome(error: CommandFailure, { method }: Call, key: string): CommandFailure {
  const remedy =
    method === 'DELETE'
      ? 'Check whether it took effect before you repeat it.'
      : `To retry it safely, call again with idempotency_key ${key}.`;
  return new CommandFailure(`${error.message} It is unknown whether the request was accepted. ${remedy}`, error.exit, {
    cause: error,
  });
}

/** What a model gets from one call: enough for about 60 claims, and a small part of a model's context. */
export const result_bytes_max = 50_000;
/** Room for the note about what is missing. */
const note_bytes = 500;

/**
 * The result as JSON text, always complete JSON. If it is too large, its longest list is shortened, and a note says how
 * to get the rest, which depends on the parameters that the operation takes. If even one record is too large, what it
 * contains is shortened.
 */
export function boundResult(sent: object, parameters: readonly string[]): string {
  const result = withoutCopies(sent);
  const text = JSON.stringify(result);
  const bytes = Buffer.byteLength(text);
  if (bytes <= result_bytes_max) return text;
  const list = longestList(result);
  const room = list === undefined ? 0 : result_bytes_max - note_bytes - (bytes - list.bytes);
  const fitting = list === undefined ? 0 : countFitting(list.values, room);
  if (list === undefined || fitting === 0) {
    const note = `One record is larger than ${result_bytes_max} bytes. Shortened: ${shorten(result).join(', ')}.`;
    return JSON.stringify({ truncated: note, ...result });
  }
  const { shown, note, ...changed } = continuation(result, { fitting, total: list.values.length, parameters });
  // `values` is part of `result`, which belongs to this call alone.
  list.values.length = shown;
  return JSON.stringify({ truncated: note, ...result, ...changed });
}

/**
 * Without the fields that repeat those of the only element of a list, and without an inner object that repeats fields. The API sends some twice, so
 * that clients of both generations find them.
 */
function withoutCopies(result: object): Record<string, unknown> {
  const shown: Record<string, unknown> = Object.fromEntries(
    Object.entries(result).map(([name, value]) => [name, isRecord(value) ? withoutCopies(value) : value]),
  );
  for (const [holder, value] of Object.entries(shown)) {
    const inner = Array.isArray(value) && value.length === 1 ? value[0] : value;
    const fields = isRecord(inner) ? Object.entries(inner) : [];
    const repeated = fields.every(
      ([name, each]) => name !== holder && JSON.stringify(shown[name]) === JSON.stringify(each),
    );
    if (!repeated || fields.length === 0) continue;
    // The record in a list is complete; an inner object has nothing of its own.
    if (Array.isArray(value)) for (const [name] of fields) delete shown[name];
    else delete shown[holder];
  }
  return shown;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A list with several elements or a long text, which can be shortened, and how. */
type Part = { path: string; bytes: number; shorten: (room: number) => string };

/** Shortens the largest lists and texts until the result fits, and returns what was left out. */
function shorten(result: object): string[] {
  const shortened: string[] = [];
  // Room for a note about each of several parts.
  const room = result_bytes_max - 4 * note_bytes;
  for (;;) {
    const bytes = Buffer.byteLength(JSON.stringify(result));
    const [part] = listParts(result, '').sort((a, b) => b.bytes - a.bytes);
    if (bytes <= room || !part) return shortened;
    shortened.push(`${part.path} (${part.shorten(room - (bytes - part.bytes))})`);
  }
}

function listParts(value: unknown, path: string): Part[] {
  if (typeof value !== 'object' || value === null) return [];
  const own = Array.isArray(value) && value.length > 1 ? [listPart(value, path)] : [];
  const inner = Object.entries(value).flatMap(([name, each]) => {
    const place = Array.isArray(value) ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`;
    const text = typeof each === 'string' && each.length > text_kept ? [textPart(value, name, each, place)] : [];
    return [...text, ...listParts(each, place)];
  });
  return [...own, ...inner];
}

function listPart(values: unknown[], path: string): Part {
  return {
    path,
    bytes: Buffer.byteLength(JSON.stringify(values)),
    shorten: (room) => {
      const total = values.length;
      values.length = Math.min(Math.max(1, countFitting(values, room)), total - 1);
      return `first ${values.length} of ${total}`;
    },
  };
}

/** Characters that are kept of a text that is too long. */
const text_kept = 500;

function textPart(parent: object, name: string, text: string, path: string): Part {
  return {
    path,
    bytes: Buffer.byteLength(JSON.stringify(text)),
    shorten: () => {
      Object.assign(parent, { [name]: text.slice(0, text_kept) });
      return `first ${text_kept} of ${text.length} characters`;
    },
  };
}

type List = { values: unknown[]; bytes: number };

function longestList(value: unknown): List | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const inner = Array.isArray(value) ? [] : Object.values(value).map(longestList);
  const own = Array.isArray(value) ? { values: value, bytes: Buffer.byteLength(JSON.stringify(value)) } : undefined;
  return [own, ...inner].reduce((best, each) => ((each?.bytes ?? 0) > (best?.bytes ?? 0) ? each : best), undefined);
}

function countFitting(values: readonly unknown[], room: number): number {
  let used = 2;
  let count = 0;
  for (const value of values) {
    used += Buffer.byteLength(JSON.stringify(value)) + 1;
    if (used > room) break;
    count += 1;
  }
  return count;
}

type Pagination = { page: number; page_size: number; total_count: number } | { page?: never; page_size: number };
type Continuation = { shown: number; note: string; pagination?: object };

function continuation(
  { pagination }: { pagination?: Pagination },
  { fitting, total, parameters }: { fitting: number; total: number; parameters: readonly string[] },
): Continuation {
  if (pagination?.page !== undefined) {
    // A size that divides that of the page, so that the part is itself a page, and the next one continues after it.
    const page_size = largestDivisor(pagination.page_size, fitting);
    const page = ((pagination.page - 1) * pagination.page_size) / page_size + 1;
    const total_pages = Math.ceil(pagination.total_count / page_size);
    return {
      shown: page_size,
      note: `Only the first ${page_size} of ${total} records fit. For the next ones, call again with page ${page + 1} and page_size ${page_size}.`,
      pagination: { ...pagination, page, current_page: page, page_size, total_pages },
    };
  }
  const note = `Only the first ${fitting} of ${total} records fit.`;
  if (parameters.includes('page_size')) {
    // The cursor of the whole page would skip what does not fit.
    const paging = pagination && { pagination: { page_size: pagination.page_size } };
    return { shown: fitting, note: `${note} Call again with page_size ${fitting}, and follow its pages.`, ...paging };
  }
  const filters = parameters.length === 0 ? '' : ` Narrow the call with: ${parameters.join(', ')}.`;
  return { shown: fitting, note: `${note}${filters}` };
}

function largestDivisor(value: number, at_most: number): number {
  for (let divisor = Math.min(at_most, value); divisor > 1; divisor -= 1) if (value % divisor === 0) return divisor;
  return 1;
}

/** Above what the service accepts, so that its own error explains the limit. */
const bytes_max = 6_000_000;

/** A file of the folder that was allowed. A link that leads out of the folder is refused. */
export async function readDocument(folder: string, path: string): Promise<Buffer> {
  const inside = await realpath(folder);
  const real = await realpath(resolve(inside, path)).catch((cause: unknown) => {
    throw new CommandFailure('The file does not exist in the folder that --files allows.', 'error', { cause });
  });
  if (!real.startsWith(inside.endsWith(sep) ? inside : inside + sep)) {
    throw new CommandFailure(
      'The file is not in the folder that --files allows. Move it there, and give its path relative to that folder.',
    );
  }
  // Not a link, because it could have been exchanged since. A pipe would block.
  const file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw new CommandFailure('The path does not name a file.');
    if (stats.size > bytes_max)
      throw new CommandFailure('The file is larger than 5 MB, which the service does not accept.');
    return await file.readFile();
  } finally {
    await file.close();
  }
}
