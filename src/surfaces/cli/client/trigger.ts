import { Argument, type Command } from 'commander';
import { TimeoutError } from '../../../../sdk/src/errors.ts';
import type { Job } from '../../../../sdk/src/generated/types.gen.ts';
import { ApiError } from '../../../catalog/errors.ts';
import type { Environment } from '../../../catalog/settings/settingValues.ts';
import { type EventType, event_types, events } from '../../../model/events.ts';
import type { Sandbox } from '../../sandbox/seedSandbox.ts';
import type { TriggeredEvent } from '../../sandbox/triggers/scene.ts';
import { CommandFailure, printJson, printLine, printProgress, printTable, readCount } from '../output.ts';
import { showWaiting } from '../terminal.ts';
import { suggest } from '../usage/suggestions.ts';
import { describeState, findReason } from './jobStates.ts';
import { eventOfJob } from './listen.ts';
import { openInBrowser } from './open.ts';
import { type Credentials, explained, requireSandbox } from './service.ts';

type Options = { json?: boolean; open?: boolean; timeout: number };

export function addTrigger(program: Command, env: Environment): void {
  program
    .command('trigger')
    .addArgument(new Argument('[event]').choices(event_types).argParser((name) => name))
    .description('trigger a real event in the sandbox; without a name, list the events')
    .option('--open', 'then open the patient’s chart in the sandbox EMR')
    .option('--timeout <seconds>', 'how long to wait for the event', readCount, 120)
    .option('--json', 'print JSON')
    .addHelpText('after', help)
    .action(async (name: string | undefined, options: Options) => {
      if (name === undefined) return list(options.json);
      const type = readType(name);
      const sandbox = await requireSandbox(env);
      const event = await trigger(sandbox, type, options);
      const job = event.job_id === undefined ? '' : `  job ${event.job_id}`;
      if (!options.json) printLine({ text: event.type, symbol: '✓', style: 'green' }, `  ${event.id}${job}`);
      const url = options.open ? await findChart(sandbox, event) : undefined;
      if (options.json) return printJson({ event, ...(url !== undefined && { url }) });
      if (url === undefined) return;
      printLine({ text: url, url });
      await openInBrowser(url, env);
    });
}

const help = `
The event is real: a request is sent to the API and, for failures, the sandbox EMR is made to fail. Some events need another one first, which is sent too. login_required re-links the account afterwards.

Examples:
  $ chartwire trigger patient.created --open
  $ chartwire trigger login_required
`;

async function trigger(sandbox: Sandbox, type: EventType, { timeout }: Options): Promise<TriggeredEvent> {
  const credentials = { ...sandbox, source: 'sandbox.json' };
  const waiting = watchJobs(timeout);
  printProgress(`Triggering ${type} …`);
  const { triggerEvent } = await import('../../sandbox/triggers.ts');
  const observe = async (work: () => Promise<number>) => {
    const { body } = await eventOfJob(credentials, work);
    return JSON.parse(body) as TriggeredEvent;
  };
  try {
    return await explained(credentials, () => triggerEvent(sandbox, type, { observe, fetch: waiting.fetch }));
  } catch (error) {
    if (error instanceof CommandFailure && waiting.ended()) throw waiting.ended();
    if (!(error instanceof ApiError)) throw error;
    throw new CommandFailure(`${error.message} Start the sandbox with npm start.`, 'unreachable', { cause: error });
  } finally {
    waiting.clear();
  }
}

/** Reads what is waited for from the responses that the client library gets, shows it, and ends the wait with it. */
function watchJobs(timeout_s: number): { fetch: typeof fetch; clear: () => void; ended: () => Error | undefined } {
  const started = Date.now();
  const line = showWaiting();
  let job: Job | undefined;
  let ended: Error | undefined;
  const observed: typeof fetch = async (input, init) => {
    if (Date.now() - started > timeout_s * 1000) {
      ended = giveUp(job, timeout_s);
      // The client library does not retry it.
      throw new TimeoutError(ended.message, { cause: ended });
    }
    const response = await fetch(input, init);
    const body = await response
      .clone()
      .json()
      .catch(() => undefined);
    const current = readJob(body);
    if (current) {
      job = current;
      line.show(describeJob(current), ` (${Math.round((Date.now() - started) / 1000)} s)`);
    }
    return response;
  };
  return { fetch: observed, clear: line.clear, ended: () => ended };
}

/** The response of GET /v1/jobs/{job_id}. */
function readJob(body: unknown): Job | undefined {
  const { job } = Object(body) as { job?: Job };
  return Array.isArray(job?.timeline) ? job : undefined;
}

/** `Job 41: retrying (attempt 3). The EMR responded with an error (500).` */
function describeJob(job: Job): string {
  return `Job ${job.job_id}: ${[describeState(job).text, findReason(job)].filter(Boolean).join('. ')}`;
}

/** The service responds, so that the cause is in the job. */
function giveUp(job: Job | undefined, timeout_s: number): CommandFailure {
  if (!job) return new CommandFailure(`The event did not happen within ${timeout_s} seconds.`, 'unfinished');
  const reason = findReason(job);
  const cause = reason === undefined ? '' : ` Last reason: ${reason.replace(/\.$/, '')}.`;
  return new CommandFailure(
    `Job ${job.job_id} has not finished within ${timeout_s} seconds: ${describeState(job).text}.${cause} It continues in the service. Follow it with: chartwire jobs watch ${job.job_id}`,
    'unfinished',
  );
}

/** A one-time link that signs in to the sandbox EMR and opens the chart with the new entry. */
async function findChart(sandbox: Sandbox, event: TriggeredEvent): Promise<string> {
  const credentials: Credentials = { ...sandbox, source: 'sandbox.json' };
  const { mrn, patient_mrn } = event.data as { mrn?: string; patient_mrn?: string };
  const chart = patient_mrn ?? mrn;
  const body = event.job_id === undefined ? { mrn: chart } : { job_id: Number(event.job_id) };
  if (event.job_id === undefined && chart === undefined) {
    throw new CommandFailure(`The event ${event.type} is about no patient, so that there is no chart to open.`);
  }
  const { Transport } = await import('../../../../sdk/src/transport.ts');
  const { base_url: baseUrl, client_id: clientId, client_secret: clientSecret } = sandbox;
  const transport = new Transport({ baseUrl, clientId, clientSecret, retriesMax: 2 });
  const { open_path } = await import('../../sandbox/openInEmr.ts');
  const call = { method: 'POST', path: open_path, body } as const;
  return (await explained(credentials, () => transport.request<{ url: string }>(call))).url;
}

function readType(name: string): EventType {
  const type = event_types.find((each) => each === name);
  if (type) return type;
  throw new CommandFailure(
    `There is no event '${name}'.${suggest(name, event_types)} List them with: chartwire trigger`,
    'usage',
  );
}

function list(json: boolean | undefined): void {
  const types = event_types.map((type) => ({ type, summary: events[type].summary }));
  if (json) printJson({ events: types });
  else {
    printTable(
      ['event', 'when'],
      types.map(({ type, summary }) => [type, summary]),
    );
  }
}
