import type { Command } from 'commander';
import type { Environment } from '../../../catalog/settings/settingValues.ts';
import { pagesOf } from '../../sandbox/pages.ts';
import { CommandFailure } from '../exits.ts';
import { printJson, printLine } from '../output.ts';
import { openInBrowser } from './browser.ts';
import { findCredentials, readSandbox } from './credentials.ts';
import { type ServiceOptions, serviceCommand } from './service.ts';

export function addOpen(program: Command, env: Environment): void {
  serviceCommand(program, 'open <page>', 'open a page in the browser: dashboard, docs, or the sandbox EMR')
    .addHelpText('after', '\nPrints the URL if no browser can be opened.\n')
    .action(async (page: string, options: ServiceOptions) => {
      const { base_url } = await findCredentials(env, options.profile);
      const sandbox = await readSandbox(env);
      const pages = pagesOf(base_url, sandbox?.base_url === base_url ? sandbox : undefined);
      const url = pages.get(page);
      if (url === undefined) {
        throw new CommandFailure(
          `There is no page '${page}'. The pages are: ${[...pages.keys()].join(', ')}.`,
          'usage',
        );
      }
      if (options.json) printJson({ url });
      else printLine(url);
      if (!options.json) await openInBrowser(url, env);
    });
}
