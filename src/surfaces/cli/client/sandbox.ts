import { Argument, type Command, Option } from 'commander';
import { ApiError } from '../../../catalog/errors.ts';
import type { Environment } from '../../../catalog/settings/settingValues.ts';
import { fault_switches } from '../../sandbox/faultSwitches.ts';
import { createSandboxEmr, type SandboxEmr } from '../../sandbox/sandboxEmr.ts';
import { CommandFailure, printJson, printLine, printTable } from '../output.ts';
import { styleState } from '../terminal.ts';
import { suggest } from '../usage/suggestions.ts';
import { requireSandbox } from './service.ts';

type Options = { json?: boolean };

export function addSandbox(program: Command, env: Environment): void {
  const sandbox = program.command('sandbox').description('control the sandbox EMR');
  const names = fault_switches.map(({ id }) => id);
  command(sandbox, 'fault', 'list the available faults, or turn one on or off')
    .addArgument(new Argument('[name]').choices(names).argParser((name) => name))
    .addOption(new Option('--once', 'for the next matching request only').conflicts('off'))
    .option('--off', 'turn the fault off; without a name, turn all off')
    .addHelpText('after', '\nExamples:\n  $ chartwire sandbox fault refuse --once\n  $ chartwire sandbox fault --off\n')
    .action((name: string | undefined, options: Options & { once?: boolean; off?: boolean }) =>
      control(env, (emr) => fault(emr, name, options)),
    );
  command(sandbox, 'reset', 'restore the sandbox’s initial data and turn all faults off').action((options: Options) =>
    control(env, async (emr) => {
      await emr.clearFaults();
      await emr.reset();
      done(options, 'The EMR was reset to its initial data. Sync it with: chartwire accounts sync');
    }),
  );
  command(sandbox, 'expire-link', 'make the EMR ask for a new sign-in, as if the link had expired').action(
    (options: Options) =>
      control(env, async (emr) => {
        await emr.expireSessions('link');
        done(options, 'The next job will find the link expired. Re-link with: chartwire link create --update --open');
      }),
  );
  command(sandbox, 'code [user_name]', 'show the current one-time codes of the EMR’s staff').action(
    (user_name: string | undefined, options: Options) => control(env, (emr) => showCodes(emr, user_name, options)),
  );
}

function command(parent: Command, name: string, description: string): Command {
  return parent.command(name).description(description).option('--json', 'print JSON');
}

/** Errors of the control API have the texts of the dashboard, which uses it too. */
async function control(env: Environment, work: (emr: SandboxEmr) => Promise<void>): Promise<void> {
  const sandbox = await requireSandbox(env);
  try {
    await work(createSandboxEmr(sandbox));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw new CommandFailure(`${error.message} Start the sandbox with npm start.`, 'unreachable', { cause: error });
  }
}

async function fault(
  emr: SandboxEmr,
  name: string | undefined,
  options: Options & { once?: boolean; off?: boolean },
): Promise<void> {
  if (name === undefined && options.off) {
    await emr.clearFaults();
    return done(options, 'All faults are off.');
  }
  if (name !== undefined) {
    const to = options.off ? 'off' : options.once ? 'once' : 'on';
    if (await emr.setFault(name, to)) return done(options, `${name}: ${to}`);
  }
  const { switches } = await emr.describe();
  if (name !== undefined) {
    const names = switches.map(({ id }) => id).join(', ');
    throw new CommandFailure(
      `There is no fault '${name}'.${suggest(
        name,
        switches.map(({ id }) => id),
      )} The faults are: ${names}.`,
      'usage',
    );
  }
  if (options.json) return printJson({ faults: switches });
  printTable(
    ['name', 'state', 'effect'],
    switches.map(({ id, on, once, description }) => [
      ...[id, styleState(on ? (once ? 'once' : 'on') : 'off'), description],
    ]),
  );
}

async function showCodes(emr: SandboxEmr, user_name: string | undefined, { json }: Options): Promise<void> {
  const { staff, seconds_left } = await emr.describe();
  const codes = staff
    .filter((each) => user_name === undefined || each.user_name === user_name)
    .map((each) => ({ user_name: each.user_name, role: each.role, code: each.code }));
  if (codes.length === 0) {
    const names = staff.map((each) => each.user_name).join(', ');
    throw new CommandFailure(`There is no user '${user_name}'. The users are: ${names}.`, 'usage');
  }
  if (json) return printJson({ codes, seconds_left });
  printTable(
    ['user name', 'role', 'code'],
    codes.map((each) => [each.user_name, each.role, each.code]),
  );
  printLine(`Valid for ${seconds_left} seconds.`);
}

function done({ json }: Options, text: string): void {
  if (json) printJson({ success: true });
  else printLine(text);
}
