import { setTimeout as pause } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import type { Chartwire } from '../../../../sdk/src/client.ts';
import { NotFoundError } from '../../../../sdk/src/errors.ts';
import type { Job, JobSummary, JobTimelineEntry } from '../../../../sdk/src/generated/types.gen.ts';
import type { Environment } from '../../../catalog/settings/settingValues.ts';
import { CommandFailure, formatTime, printJson, printLine, printTable, readCount } from '../output.ts';
import { type Service, type ServiceOptions, serviceCommand, withService } from './service.ts';

const statuses = ['queued', 'running', 'succeeded', 'partial', 'failed', 'needs_review', 'cancelled'] as const;
type ListOptions = ServiceOptions & {
  status?: (typeof statuses)[number];
  type?: string;
  reference?: string;
  limit: number;
};

const poll_ms = 500;
const unsuccessful: ReadonlySet<string> = new Set(['failed', 'needs_review', 'cancelled']);

export function addJobs(program: Command, env: Environment): void {
  const jobs = program.command('jobs').description('list, follow, rerun and cancel jobs');
  serviceCommand(jobs, 'list', 'list the newest jobs of all accounts')
    .addOption(new Option('--status <status>', 'only jobs in this state').choices(statuses))
    .option('--type <type>', 'only jobs of this type, such as patient.create')
    .option('--reference <text>', 'only jobs whose request had this reference')
    .option('--limit <number>', 'how many', readCount, 20)
    .action((options: ListOptions) => withService(env, options, (service) => list(service, options)));
  serviceCommand(jobs, 'get <job_id>', 'show a job with its timeline').action((id: string, options: ServiceOptions) =>
    withService(env, options, async (service) => {
      const job = await readJob(service, id);
      if (options.json) printJson({ job });
      else show(job);
    }),
  );
  serviceCommand(jobs, 'watch <job_id>', 'follow a job’s timeline until it finishes')
    .addHelpText('after', '\nThe exit code is 3 if the job failed, needs review or was canceled.\n')
    .action((id: string, options: ServiceOptions) =>
      withService(env, options, (service) => watch(service, id, options)),
    );
  serviceCommand(jobs, 'run-again <job_id>', 'run a failed job again')
    .option('--watch', 'follow the new job until it finishes')
    .action((id: string, options: ServiceOptions & { watch?: boolean }) =>
      withService(env, options, async (service) => {
        const { job_id } = await service.client.jobs.runAgain(id);
        if (options.json) printJson({ job_id }, { line: options.watch === true });
        else printLine(`Queued as job ${job_id}.`);
        if (options.watch) await watch(service, String(job_id), options);
      }),
    );
  serviceCommand(jobs, 'cancel <job_id>', 'cancel a job that has sent nothing to the EMR').action(
    (id: string, options: ServiceOptions) =>
      withService(env, options, async ({ client }) => {
        const { job_id, status } = await client.jobs.cancel(id);
        if (options.json) printJson({ job_id, status });
        else printLine(`Job ${job_id} was canceled.`);
      }),
  );
}

async function list({ client }: Service, { json, status, type, reference, limit }: ListOptions): Promise<void> {
  const page_size = Math.min(limit, 100);
  const jobs = await takeFirst(
    client.jobs.list({ page_size, ...(status && { status }), ...(type && { type }), ...(reference && { reference }) }),
    limit,
  );
  if (json) printJson({ jobs });
  else if (jobs.length === 0) printLine('No jobs.');
  else {
    printTable(
      ['job', 'type', 'status', 'attempts', 'created', 'error'],
      jobs.map((job) => [
        ...[String(job.job_id), job.type, job.waiting_for_relink ? 'waiting for re-link' : job.status],
        ...[String(job.attempts), formatTime(job.created_at), job.error_code ?? ''],
      ]),
    );
  }
}

/** The first records of a list. */
export async function takeFirst<T>(list: AsyncIterable<T>, limit: number): Promise<T[]> {
  const first: T[] = [];
  for await (const each of list) {
    first.push(each);
    if (first.length === limit) break;
  }
  return first;
}

/**
 * A job of the account with its details, or of another account as the client's list shows it: the details contain
 * patient data, which needs that account's access token.
 */
async function readJob({ client, account, credentials }: Service, id: string): Promise<Job | JobSummary> {
  const own = credentials.access_token === undefined ? undefined : await findOwn(account(), id);
  if (own) return own;
  const number = Number(id);
  const [listed] = Number.isSafeInteger(number)
    ? await takeFirst(client.jobs.list({ before: String(number + 1), page_size: 1 }), 1)
    : [];
  if (listed?.job_id === number) return listed;
  // Says that the job does not exist, or that the access token is missing.
  return (await account().jobs.get(id)).job;
}

async function findOwn(account: Chartwire, id: string): Promise<Job | undefined> {
  try {
    return (await account.jobs.get(id)).job;
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}

/** Prints the entries of the timeline as they appear. */
async function watch(service: Service, id: string, { json }: ServiceOptions): Promise<void> {
  let printed = 0;
  for (;;) {
    const job = await readJob(service, id);
    const timeline = 'timeline' in job ? job.timeline : [];
    for (const entry of timeline.slice(printed)) {
      if (json) printJson({ timeline: entry }, { line: true });
      else printLine(formatLine(entry));
    }
    printed = timeline.length;
    if (job.finished_at !== null) return finish(job, json);
    await pause(poll_ms);
  }
}

function finish(job: Job | JobSummary, json: boolean | undefined): void {
  if (json) printJson({ job }, { line: true });
  else printLine(`${formatTime(job.finished_at)}  Job ${job.job_id}: ${job.status}`);
  if (!unsuccessful.has(job.status)) return;
  const message = 'error' in job ? job.error?.message : undefined;
  throw new CommandFailure(message ?? `The job ended as ${job.status}.`, 'job_failed');
}

function show(job: Job | JobSummary): void {
  const facts = [
    ['Job', String(job.job_id)],
    ['Type', job.type],
    ...(job.reference === null ? [] : [['Reference', job.reference]]),
    ['Status', job.status],
    ['Attempts', String(job.attempts)],
    ['Created', formatTime(job.created_at)],
    ['Finished', formatTime(job.finished_at)],
    ...('event_id' in job ? [['Event', job.event_id ?? '–']] : [['Account', `${job.user_id} (${job.org_id})`]]),
    ...errorFact(job),
  ];
  for (const [name = '', value = ''] of facts) printLine(`${name.padEnd(9)} ${value}`);
  if (!('timeline' in job)) {
    printLine('\nThe timeline needs the access token of this account. Set CHARTWIRE_ACCESS_TOKEN to it.');
    return;
  }
  if (job.timeline.length > 0) printLine();
  for (const entry of job.timeline) printLine(formatLine(entry));
}

function errorFact(job: Job | JobSummary): string[][] {
  if (!('error' in job)) return job.error_code === null ? [] : [['Error', job.error_code]];
  return job.error ? [['Error', `${job.error.code}: ${job.error.message}`]] : [];
}

function formatLine({ at, step, kind, attempt, detail }: JobTimelineEntry): string {
  const more = detail === null ? '' : `  ${JSON.stringify(detail)}`;
  return `${formatTime(at)}  attempt ${attempt}  ${kind.padEnd(7)}  ${step}${more}`;
}
