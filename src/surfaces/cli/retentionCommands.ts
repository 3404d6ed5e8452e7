import { type Command, Option } from 'commander';
import type { Config } from '../../catalog/settings/config.ts';
import { utc_option } from './output.ts';

const json = ['--json', 'print JSON'] as const;

/** Adds the commands about periods, legal holds and the disposal report. */
export function addRetention(program: Command, config: () => Promise<Config>): void {
  program
    .command('retention [data=days...]')
    .description('show how long the data of a client is kept, or change it')
    .option('--client <client_id>', 'the client (required)')
    .option(...json)
    .addHelpText('after', retentionExamples)
    .action(async (assignments, options) =>
      (await import('./retention.ts')).retentionCommand(await config(), assignments, options),
    );
  const holds = program.command('holds').description('list, place or lift legal holds, which prevent deletions');
  holds
    .command('list')
    .description('list the legal holds of a client')
    .option('--client <client_id>', 'the client (required)')
    .option(...json)
    .option(...utc_option)
    .action(async (options) => (await import('./retention.ts')).listHoldsCommand(await config(), options));
  holds
    .command('place')
    .description('place a legal hold on a client, a practice or a patient')
    .option('--client <client_id>', 'the client (required)')
    .option('--org <org_id>', 'the practice')
    .option('--patient <id or mrn>', 'the patient')
    .option('--reference <text>', 'what you call the case (required); name no patient in it')
    .option(...json)
    .action(async (options) => (await import('./retention.ts')).placeHoldCommand(await config(), options));
  holds
    .command('lift <id>')
    .description('lift a legal hold')
    .option('--client <client_id>', 'the client (required)')
    .option(...json)
    .action(async (id, options) => (await import('./retention.ts')).liftHoldCommand(await config(), id, options));
  program
    .command('disposals')
    .description('report what was deleted, by day, client and rule')
    .option('--since <date>', 'only from this day (UTC) on, such as 2031-03-03')
    .option('--until <date>', 'only up to this day')
    .option('--client <client_id>', 'only of this client')
    .addOption(new Option('--format <format>', 'output format').choices(['table', 'csv', 'json']).default('table'))
    .action(async (options) => (await import('./retention.ts')).disposalsCommand(await config(), options));
}

const retentionExamples = `
Examples:
  $ chartwire retention --client CLIENT_ID
  $ chartwire retention --client CLIENT_ID events=14 job_inputs=365
  $ chartwire retention --client CLIENT_ID events=default
`;
