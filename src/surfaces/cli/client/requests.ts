import { setTimeout as pause } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import type { LoggedRequest } from '../../../../sdk/src/generated/types.gen.ts';
import type { Environment } from '../../../catalog/settings/settingValues.ts';
import { printJson, printLine, printTable, readCount, utc_option } from '../output.ts';
import { formatTime, styleStatus, type Text, zoneName } from '../terminal.ts';
import { takeFirst } from './jobs.ts';
import { type Service, type ServiceOptions, serviceCommand, withService } from './service.ts';

const statuses = ['2xx', '4xx', '5xx', 'failed'] as const;
type ListOptions = ServiceOptions & { status?: (typeof statuses)[number]; endpoint?: string; limit: number };
type TailOptions = ServiceOptions & { status?: (typeof statuses)[number]; limit: number; follow: boolean };

const poll_ms = 1_000;
const page_size = 100;
/** How many of the newest requests are remembered, to recognize what was printed. */
const remembered_max = 1_000;

export function addRequests(program: Command, env: Environment): void {
  const requests = program.command('requests').description('list or follow your application’s requests');
  serviceCommand(requests, 'list', 'list the latest requests')
    .addOption(new Option('--status <status>', 'only requests with this kind of response').choices(statuses))
    .option('--endpoint <operation>', 'only requests to this operation, such as patients.create')
    .option('--limit <number>', 'how many', readCount, 20)
    .option(...utc_option)
    .action((options: ListOptions) => withService(env, options, (service) => list(service, options)));
  serviceCommand(requests, 'tail', 'print the latest requests, then new ones as they arrive')
    .addOption(new Option('--status <status>', 'only requests with this kind of response').choices(statuses))
    .option('--limit <number>', 'how many past requests to print first', readCount, 10)
    .option('--no-follow', 'do not wait for new ones')
    .option(...utc_option)
    .action((options: TailOptions) => withService(env, options, (service) => tail(service, options)));
}

async function list({ client }: Service, { json, status, endpoint, limit }: ListOptions): Promise<void> {
  const query = { page_size: Math.min(limit, page_size), ...(status && { status }), ...(endpoint && { endpoint }) };
  const requests = await takeFirst(client.requests.list(query), limit);
  if (json) return printJson({ requests });
  if (requests.length === 0) return printLine('No requests.');
  printTable(
    [`at (${zoneName()})`, 'status', 'duration', 'method', 'operation', 'error', 'request'],
    requests.map((request) => [
      ...[formatTime(request.at), styleStatus(request.status), `${request.duration_ms} ms`, request.method],
      ...[request.endpoint, request.error_code ?? '', request.request_id],
    ]),
  );
}

async function tail({ client }: Service, { json, status, limit, follow }: TailOptions): Promise<void> {
  const list = () => client.requests.list({ page_size, ...(status && { status }) });
  const print = (newest_first: readonly LoggedRequest[]) => {
    for (const request of [...newest_first].reverse()) {
      if (json) printJson({ request }, { line: true });
      else printLine(...formatLine(request));
    }
  };
  const first = await takeFirst(list(), Math.max(limit, page_size));
  let seen_ids = collectIds(first);
  print(first.filter(isForeign).slice(0, limit));
  while (follow) {
    await pause(poll_ms);
    const fresh = await readNew(list(), seen_ids);
    seen_ids = new Set([...collectIds(fresh), ...seen_ids].slice(0, remembered_max));
    print(fresh.filter(isForeign));
  }
}

/** Requests are logged when they end, so a slow one can appear below a known one: whole pages are compared. */
async function readNew(list: AsyncIterable<LoggedRequest>, seen_ids: ReadonlySet<string>): Promise<LoggedRequest[]> {
  const fresh: LoggedRequest[] = [];
  let read = 0;
  for await (const request of list) {
    if (!seen_ids.has(request.request_id)) fresh.push(request);
    read += 1;
    if (read % page_size === 0 && (fresh.length < read || read >= remembered_max)) break;
  }
  return fresh;
}

function collectIds(requests: readonly LoggedRequest[]): Set<string> {
  return new Set(requests.map(({ request_id }) => request_id));
}

/** This command's own polling would fill the list. */
function isForeign({ endpoint }: LoggedRequest): boolean {
  return endpoint !== 'requests.list';
}

function formatLine(request: LoggedRequest): Text[] {
  const { at, status, duration_ms, method, endpoint, error_code, request_id } = request;
  const call = `  ${String(duration_ms).padStart(6)} ms  ${method.padEnd(6)} ${endpoint}  ${error_code ?? ''}  `;
  return [{ text: `${formatTime(at)}  `, style: 'dim' }, styleStatus(status), call, { text: request_id, style: 'dim' }];
}
