import { setTimeout as pause } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import type { Chartwire } from '../../../../sdk/src/client.ts';
import { NotFoundError } from '../../../../sdk/src/errors.ts';
import type { Job, JobSummary, JobTimelineEntry } from '../../../../sdk/src/generated/types.gen.ts';
import type { Environment } from '../../../catalog/settings/settingValues.ts';
import { CommandFailure, printFacts, printJson, printLine, printTable, readCount, utc_option } from '../output.ts';
import { formatMoment, formatTime, styleState, type Text, zoneName } from '../terminal.ts';
import { describeState, findReason } from './jobStates.ts';
import { dashboardPage, type Service, type ServiceOptions, serviceCommand, withService } from './service.ts';

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
  const jobs = program.command('jobs').description('list, follow, run again and cancel jobs');
  serviceCommand(jobs, 'list', 'list the newest jobs of all accounts')
    .addOption(new Option('--status <status>', 'only jobs in this state').choices(statuses))
    .option('--type <type>', 'only jobs of this type, such as patient.create')
    .option('--reference <text>', 'only jobs whose request had this reference')
    .option('--limit <number>', 'how many', readCount, 20)
    .option(...utc_option)
    .action((options: ListOptions) => withService(env, options, (service) => list(service, options)));
  serviceCommand(jobs, 'get <job_id>', 'show a job with its timeline')
    .option(...utc_option)
    .action((id: string, options: ServiceOptions) =>
      withService(env, options, async (service) => {
        const job = await readJob(service, id);
        if (options.json) printJson({ job });
        else await show(service, job);
      }),
    );
  serviceCommand(jobs, 'watch <job_id>', 'follow a job’s timeline until it finishes')
    .option(...utc_option)
    .addHelpText('after', '\nThe exit code is 3 if the job failed, needs review or was canceled.\n')
    .action((id: string, options: ServiceOptions) =>
      withService(env, options, (service) => watch(service, id, options)),
    );
  serviceCommand(jobs, 'run-again <job_id>', 'run a failed job again')
    .option('--watch', 'follow the new job until it finishes')
    .option(...utc_option)
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

async function list(service: Service, { json, status, type, reference, limit }: ListOptions): Promise<void> {
  const { client, credentials } = service;
  const page_size = Math.min(limit, 100);
  const jobs = await takeFirst(
    client.jobs.list({ page_size, ...(status && { status }), ...(type && { type }), ...(reference && { reference }) }),
    limit,
  );
  if (json) return printJson({ jobs });
  if (jobs.length === 0) return printLine('No jobs.');
  const details = await readReasons(service, jobs);
  printTable(
    ['job', 'type', 'status', `created (${zoneName()})`, 'practice', 'user', 'reason'],
    jobs.map((job) => [
      { text: String(job.job_id), url: dashboardPage(credentials, `jobs/${job.job_id}`) },
      ...[job.type, describeState(details.get(job.job_id) ?? job), formatTime(job.created_at), job.org_id, job.user_id],
      findReason(details.get(job.job_id) ?? job) ?? '',
    ]),
  );
}

/** Few enough that a list of failed jobs does not reach the rate limit. */
const details_max = 50;
const details_at_once = 4;

/** The list has codes only. Reasons in the EMR’s words are in the details, which need the account’s access token. */
async function readReasons(
  { account, credentials }: Service,
  jobs: readonly JobSummary[],
): Promise<ReadonlyMap<number, Job>> {
  const details = new Map<number, Job>();
  if (credentials.access_token === undefined) return details;
  const left = jobs.filter((job) => job.error_code !== null || (job.finished_at === null && job.attempts > 0));
  left.splice(details_max);
  const read = async () => {
    for (let job = left.shift(); job; job = left.shift()) {
      const own = await findOwn(account(), String(job.job_id));
      if (own) details.set(job.job_id, own);
    }
  };
  await Promise.all(Array.from({ length: details_at_once }, read));
  return details;
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
      else printLine(...formatEntry(entry));
    }
    printed = timeline.length;
    if (job.finished_at !== null) return finish(job, json);
    await pause(poll_ms);
  }
}

function finish(job: Job | JobSummary, json: boolean | undefined): void {
  if (json) printJson({ job }, { line: true });
  else printLine(`${formatTime(job.finished_at)}  Job ${job.job_id}: `, describeState(job));
  if (!unsuccessful.has(job.status)) return;
  const message = 'error' in job ? job.error?.message : undefined;
  throw new CommandFailure(message ?? `The job ended as ${job.status}.`, 'job_failed');
}

async function show(service: Service, job: Job | JobSummary): Promise<void> {
  const { credentials } = service;
  const reason = findReason(job);
  const mrn = await findMrn(service, job);
  const page = dashboardPage(credentials, `jobs/${job.job_id}`);
  printFacts([
    ['Job', { text: String(job.job_id), style: 'bold', url: page }],
    ['Type', job.type],
    ...(job.reference === null ? [] : [['Reference', job.reference] as const]),
    ['Status', describeState(job)],
    ...(reason === undefined ? [] : [['Reason', reason] as const]),
    ...(mrn === undefined ? [] : [['Patient', `MRN ${mrn}`] as const]),
    ['Attempts', String(job.attempts)],
    ['Created', formatMoment(job.created_at)],
    ['Finished', formatMoment(job.finished_at)],
    ...describeOrigin(service, job),
    ['Dashboard', { text: page, url: page }],
  ]);
  if (!('timeline' in job)) {
    printLine();
    printLine('The timeline needs the access token of this account. Set CHARTWIRE_ACCESS_TOKEN to it.');
    return;
  }
  if (job.timeline.length > 0) printLine();
  printTimeline(job.timeline);
}

/** Attempts that ended in the same way as the one before and the one after are counted. */
function printTimeline(timeline: readonly JobTimelineEntry[]): void {
  const attempts = [...new Set(timeline.map(({ attempt }) => attempt))].map((attempt) => {
    const entries = timeline.filter((entry) => entry.attempt === attempt);
    return { entries, course: JSON.stringify(entries.map(({ step, kind, detail }) => [step, kind, detail?.reason])) };
  });
  let omitted = 0;
  for (const [n, { entries, course }] of attempts.entries()) {
    if (course === attempts[n - 1]?.course && course === attempts[n + 1]?.course) {
      omitted += 1;
      continue;
    }
    if (omitted > 0) printLine({ text: `… ${omitted} more attempts with the same outcome`, style: 'dim' });
    omitted = 0;
    for (const entry of entries) printLine(...formatEntry(entry));
  }
}

function describeOrigin({ credentials }: Service, job: Job | JobSummary): (readonly [string, Text])[] {
  if (!('event_id' in job)) return [['Account', `${job.user_id} (${job.org_id})`]];
  if (job.event_id === null) return [];
  return [['Event', { text: job.event_id, url: dashboardPage(credentials, `events/${job.event_id}`) }]];
}

/** The patient, if the event of the job names one. Names of people are not shown. */
async function findMrn({ account }: Service, job: Job | JobSummary): Promise<string | undefined> {
  if (!('event_id' in job) || job.event_id === null) return undefined;
  const { webhook_events } = await account().webhookEvents.list({ job_id: job.job_id });
  const { mrn, patient_mrn } = webhook_events[0]?.data ?? {};
  return [mrn, patient_mrn].find((each) => typeof each === 'string');
}

const ends: Record<string, string> = {
  retry: 'retrying',
  parked: 'parked',
  succeeded: 'succeeded',
  partial: 'partial',
  failed: 'failed',
  cancelled: 'cancelled',
  needs_review: 'needs_review',
};

/** A line of the timeline: the time, the attempt, what happened and its details. */
function formatEntry({ at, step, kind, attempt, detail }: JobTimelineEntry): Text[] {
  const state = kind === 'note' ? ends[step] : undefined;
  const what = { intent: `${step}: sent to the EMR`, outcome: `${step}: response of the EMR`, note: step }[kind];
  const facts = Object.entries(detail ?? {}).sort(([name]) => (name === 'reason' ? -1 : 0));
  const more = facts.map(([name, value]) => describeDetail(name, value));
  const text = state === undefined ? { text: what } : styleState(state, what);
  return [
    { text: formatTime(at), style: 'dim' },
    `  attempt ${attempt}  `,
    text,
    more.length > 0 ? `  ${more.join(' · ')}` : '',
  ];
}

function describeDetail(name: string, value: unknown): string {
  if (name === 'reason' && typeof value === 'string') return value;
  if (name === 'in_ms' && typeof value === 'number') return `next attempt in ${Math.round(value / 1000)} s`;
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return `${name.replaceAll('_', ' ')} ${text}`;
}
