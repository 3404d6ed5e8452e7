import { setTimeout as pause } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import type { Job, JobTimelineEntry } from '../../../sdk/src/generated/types.gen.ts';
import type { Environment } from '../../settingValues.ts';
import { CommandFailure } from '../exits.ts';
import { printJson, printLine, printTable, timeOf } from '../output.ts';
import { readCount } from './readCount.ts';
import { type Service, type ServiceOptions, serviceCommand, withService } from './service.ts';

const statuses = ['queued', 'running', 'succeeded', 'partial', 'failed', 'needs_review'] as const;
type ListOptions = ServiceOptions & { status?: (typeof statuses)[number]; type?: string; limit: number };

const poll_ms = 500;

export function addJobs(program: Command, env: Environment): void {
  const jobs = program.command('jobs').description('list, follow and rerun jobs');
  serviceCommand(jobs, 'list', 'list the newest jobs of all accounts')
    .addOption(new Option('--status <status>', 'only jobs in this state').choices(statuses))
    .option('--type <type>', 'only jobs of this type, such as patient.create')
    .option('--limit <number>', 'how many', readCount, 20)
    .action((options: ListOptions) => withService(env, options, (service) => list(service, options)));
  serviceCommand(jobs, 'get <job_id>', 'show a job with its timeline').action((id: string, options: ServiceOptions) =>
    withService(env, options, async (service) => {
      const { job } = await service.account().jobs.get(id);
      if (options.json) printJson({ job });
      else show(job);
    }),
  );
  serviceCommand(jobs, 'watch <job_id>', 'follow a job’s timeline until it finishes')
    .addHelpText('after', '\nThe exit code is 3 if the job failed or needs review.\n')
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
}

async function list({ client }: Service, { json, status, type, limit }: ListOptions): Promise<void> {
  const page_size = Math.min(limit, 100);
  const jobs = await firstOf(client.jobs.list({ page_size, ...(status && { status }), ...(type && { type }) }), limit);
  if (json) printJson({ jobs });
  else if (jobs.length === 0) printLine('No jobs.');
  else {
    printTable(
      ['job', 'type', 'status', 'attempts', 'created', 'error'],
      jobs.map((job) => [
        ...[String(job.job_id), job.type, job.waiting_for_relink ? 'waiting for re-link' : job.status],
        ...[String(job.attempts), timeOf(job.created_at), job.error_code ?? ''],
      ]),
    );
  }
}

/** The first records of a list. */
export async function firstOf<T>(list: AsyncIterable<T>, limit: number): Promise<T[]> {
  const found: T[] = [];
  for await (const each of list) {
    found.push(each);
    if (found.length === limit) break;
  }
  return found;
}

/** Prints the entries of the timeline as they appear. */
async function watch(service: Service, id: string, { json }: ServiceOptions): Promise<void> {
  const account = service.account();
  let printed = 0;
  for (;;) {
    const { job } = await account.jobs.get(id);
    for (const entry of job.timeline.slice(printed)) {
      if (json) printJson({ timeline: entry }, { line: true });
      else printLine(lineOf(entry));
    }
    printed = job.timeline.length;
    if (job.finished_at !== null) return finish(job, json);
    await pause(poll_ms);
  }
}

function finish(job: Job, json: boolean | undefined): void {
  if (json) printJson({ job }, { line: true });
  else printLine(`${timeOf(job.finished_at)}  Job ${job.job_id}: ${job.status}`);
  if (job.status !== 'failed' && job.status !== 'needs_review') return;
  throw new CommandFailure(job.error?.message ?? `The job ended as ${job.status}.`, 'job_failed');
}

function show(job: Job): void {
  const facts = [
    ['Job', String(job.job_id)],
    ['Type', job.type],
    ['Status', job.status],
    ['Attempts', String(job.attempts)],
    ['Created', timeOf(job.created_at)],
    ['Finished', timeOf(job.finished_at)],
    ['Event', job.event_id ?? '–'],
    ...(job.error ? [['Error', `${job.error.code}: ${job.error.message}`]] : []),
  ];
  for (const [name = '', value = ''] of facts) printLine(`${name.padEnd(9)} ${value}`);
  if (job.timeline.length > 0) printLine();
  for (const entry of job.timeline) printLine(lineOf(entry));
}

function lineOf({ at, step, kind, attempt, detail }: JobTimelineEntry): string {
  const more = detail === null ? '' : `  ${JSON.stringify(detail)}`;
  return `${timeOf(at)}  attempt ${attempt}  ${kind.padEnd(7)}  ${step}${more}`;
}
