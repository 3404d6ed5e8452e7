import type { Command } from 'commander';
import { ApiError } from '../../../catalog/errors.ts';
import type { Environment } from '../../../catalog/settings/settingValues.ts';
import { type EventType, event_types, events } from '../../../model/events.ts';
import type { TriggeredEvent } from '../../sandbox/triggers.ts';
import { CommandFailure } from '../exits.ts';
import { printJson, printLine, printProgress, printTable } from '../output.ts';
import { requireSandbox } from './credentials.ts';
import { eventOfJob } from './eventStream.ts';
import { explained } from './service.ts';

export function addTrigger(program: Command, env: Environment): void {
  program
    .command('trigger [event]')
    .description('trigger a real event in the sandbox; without a name, list the events')
    .option('--json', 'print JSON')
    .addHelpText('after', help)
    .action(async (name: string | undefined, { json }: { json?: boolean }) => {
      if (name === undefined) return list(json);
      const event = await trigger(env, readType(name));
      if (json) printJson({ event });
      else printLine(`${event.type}  ${event.id}${event.job_id === undefined ? '' : `  job ${event.job_id}`}`);
    });
}

const help = `
The event is real: a request is sent to the API and, for failures, the sandbox EMR is made to fail. Some events need another one first, which is sent too. login_required re-links the account afterwards.

Examples:
  $ chartwire trigger telephone_encounter.created_partial
  $ chartwire trigger login_required
`;

async function trigger(env: Environment, type: EventType): Promise<TriggeredEvent> {
  const sandbox = await requireSandbox(env);
  const credentials = { ...sandbox, source: 'sandbox.json' };
  printProgress(`Triggering ${type} …`);
  const { triggerEvent } = await import('../../sandbox/triggers.ts');
  const observe = async (work: () => Promise<number>) => {
    const { body } = await eventOfJob(credentials, work);
    return JSON.parse(body) as TriggeredEvent;
  };
  try {
    return await explained(credentials, () => triggerEvent(sandbox, type, observe));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw new CommandFailure(`${error.message} Start the sandbox with npm start.`, 'unreachable', { cause: error });
  }
}

function readType(name: string): EventType {
  const type = event_types.find((each) => each === name);
  if (type) return type;
  throw new CommandFailure(`There is no event '${name}'. List them with: chartwire trigger`, 'usage');
}

function list(json: boolean | undefined): void {
  const known = event_types.map((type) => ({ type, summary: events[type].summary }));
  if (json) printJson({ events: known });
  else {
    printTable(
      ['event', 'when'],
      known.map(({ type, summary }) => [type, summary]),
    );
  }
}
