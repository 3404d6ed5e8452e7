import { Command, CommanderError } from 'commander';
import { ConnectionError } from '../../../sql/errors.ts';
import { StartFailure } from '../../catalog/errors.ts';
import { version } from '../../catalog/version.ts';
import { addAdministration, administration } from './administration.ts';
import { addAccounts, addLink } from './client/accounts.ts';
import { addApi } from './client/api.ts';
import { addChanges } from './client/changes.ts';
import { addEvents } from './client/events.ts';
import { addJobs } from './client/jobs.ts';
import { addListen } from './client/listen.ts';
import { addMcp } from './client/mcp.ts';
import { addOpen } from './client/open.ts';
import { addProfiles } from './client/profileCommands.ts';
import { addRequests } from './client/requests.ts';
import { addSandbox } from './client/sandbox.ts';
import { addTrigger } from './client/trigger.ts';
import { addWebhooks } from './client/webhooks.ts';
import { CommandFailure, exit_codes } from './output.ts';
import type { LoadService } from './serve.ts';
import { render, setTerminal, setTimes } from './terminal.ts';
import { addCompletion } from './usage/completion.ts';
import { deepestCommand, explainUsage, formatPath } from './usage/usageErrors.ts';

/** Runs one command. An error that the user can fix prints its message, without a stack trace, and sets an exit code. */
export async function run(argv: string[], loadService: LoadService): Promise<void> {
  setTerminal(process.env);
  const program = createProgram(loadService);
  try {
    await program.parseAsync(argv.length === 0 ? ['help'] : argv, { from: 'user' });
  } catch (error) {
    const { message, exit, help } = explain(error, deepestCommand(program, argv));
    const mark = exit === 0 || help ? '' : render({ text: '', symbol: '✗', style: 'red' }, process.stderr).shown;
    process.stderr.write(`${mark}${message}`);
    if (exit !== 0) process.exitCode = exit;
  }
}

function createProgram(loadService: LoadService): Command {
  const program = new Command('chartwire')
    .description('Chartwire: one API for the electronic medical records of medical practices.')
    .version(version, '-v, --version', 'show the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command]', 'show help')
    .exitOverride()
    // Errors are printed by `run`, in one place.
    .configureOutput({ writeErr: () => {}, outputError: () => {} })
    .showSuggestionAfterError(false)
    .hook('preAction', (_program, command) => setTimes({ utc: command.opts().utc === true }))
    .addHelpText('after', closing);
  const env = process.env;
  program.commandsGroup('Develop:');
  for (const add of [addListen, addTrigger, addSandbox, addLink, addApi, addMcp, addOpen, addProfiles])
    add(program, env);
  addCompletion(program);
  program.commandsGroup('Operate:');
  for (const add of [addJobs, addEvents, addChanges, addAccounts, addWebhooks, addRequests]) add(program, env);
  program.commandsGroup('Administer (on the server, with its settings):');
  addAdministration(program, env, loadService);
  return program;
}

const closing = `
Commands that talk to the service read their credentials from CHARTWIRE_BASE_URL, CHARTWIRE_CLIENT_ID,
CHARTWIRE_CLIENT_SECRET and CHARTWIRE_ACCESS_TOKEN, else from a profile (chartwire profile add), else from sandbox.json
in the data folder. The service’s settings are environment variables, or lines in a .env file next to package.json.

Examples:
  $ chartwire listen --forward-to http://localhost:3000/webhooks
  $ chartwire trigger patient.created
  $ chartwire jobs list --status failed --json

Exit codes: 0 success, 1 error, 2 invalid usage, 3 the job failed, 4 not reachable, 5 credentials missing or refused,
6 the job has not finished in time.
`;

/** The message for a failed command, or its help, and the exit code. Unexpected errors are rethrown. */
function explain(error: unknown, command: Command): { message: string; exit: number; help?: boolean } {
  if (error instanceof CommandFailure) return { message: `${error.message}\n`, exit: exit_codes[error.exit] };
  if (error instanceof StartFailure) return { message: `${error.message}\n`, exit: exit_codes.error };
  if (isConnectionLost(error)) return { message: connection_lost, exit: exit_codes.error };
  if (!(error instanceof CommanderError)) throw error;
  // Help or the version was shown.
  if (error.exitCode === 0) return { message: '', exit: 0 };
  const [first = 'chartwire'] = formatPath(command).split(' ').slice(1);
  const exit = administration.includes(first) ? exit_codes.error : exit_codes.usage;
  // A group of commands without a subcommand.
  if (error.code === 'commander.help') return { message: command.helpInformation(), exit, help: true };
  return { message: explainUsage(error, command), exit };
}

const connection_lost =
  'The connection to the database was lost. Run the command again when the database is back; check with: chartwire doctor\n';

/** The driver's errors, and SQLSTATE classes 08 (connection) and 57P (shutdown). */
function isConnectionLost(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  return error instanceof ConnectionError || (typeof code === 'string' && /^(ECONN|EPIPE|08|57P0)/.test(code));
}
