import { randomUUID } from 'node:crypto';
import { ChartwireError, JobFailedError } from '../../../../sdk/src/errors.ts';
import type { Job } from '../../../../sdk/src/generated/types.gen.ts';
import { requestAndWaitForEvent, waitForJob } from '../../../../sdk/src/jobs.ts';
import type { Call } from '../../../../sdk/src/transport.ts';
import { explained, type Service } from '../client/service.ts';
import { CommandFailure } from '../exits.ts';
import { boundResult } from './boundResult.ts';
import { readDocument } from './readDocument.ts';
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
  given: Arguments,
  options: CallOptions,
): Promise<string> {
  const call = await callOf(tool, given, options.files);
  const key = typeof given.idempotency_key === 'string' ? given.idempotency_key : randomUUID();
  const accepted = await explained(service.credentials, () =>
    service.transport.request<Accepted>(call, { idempotencyKey: key, signal: options.signal }),
  ).catch((error: unknown) => {
    throw isLost(error) && !tool.method.reads ? unknownOutcome(error, call, key) : error;
  });
  const result = tool.method.reads ? accepted : await outcomeOf(service, tool, accepted, options);
  return boundResult(result, tool.method.reads ? filtersOf(tool) : []);
}

/** The arguments that select and page records. */
function filtersOf({ places }: ApiTool): string[] {
  return [...places].filter(([, place]) => place === 'query' || place === 'body').map(([name]) => name);
}

async function callOf({ method, places, file_field }: ApiTool, given: Arguments, files?: string): Promise<Call> {
  const unknown = Object.keys(given).filter((name) => !places.has(name));
  if (unknown.length > 0) {
    throw new CommandFailure(`Unknown argument: ${unknown.join(', ')}. Known: ${[...places.keys()].join(', ')}.`);
  }
  const at = (place: string) => Object.entries(given).filter(([name]) => places.get(name) === place);
  const body = Object.fromEntries(at('body'));
  if (file_field !== undefined) body[file_field] = await fileOf(file_field, given, files);
  return {
    method: method.verb,
    path: pathOf(method.path, given),
    query: Object.fromEntries(at('query')),
    ...((method.body !== undefined || method.empty_body) && { body }),
    form: method.form,
    reads: method.reads,
  };
}

function pathOf(template: string, given: Arguments): string {
  return template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(given[name] ?? '');
    // A dot segment would lead to another endpoint.
    if (/^\.{0,2}$/.test(value)) throw new CommandFailure(`${name} is required: it identifies the record.`);
    return encodeURIComponent(value);
  });
}

async function fileOf(field: string, given: Arguments, files: string | undefined): Promise<Blob> {
  const [content, path] = [given[`${field}_base64`], given[`${field}_path`]];
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
async function outcomeOf(
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
  const found = await transport.request<{ job: Job }>(call, { signal }).catch(() => undefined);
  return { status: found?.job.status ?? 'unknown', next };
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
