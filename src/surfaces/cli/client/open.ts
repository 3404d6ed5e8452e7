import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Argument, type Command } from 'commander';
import type { Environment } from '../../../catalog/settings/settingValues.ts';
import { listPages, page_names } from '../../sandbox/seedSandbox.ts';
import { CommandFailure, printJson, printLine } from '../output.ts';
import { suggest } from '../usage/suggestions.ts';
import { findCredentials, readSandbox, type ServiceOptions, serviceCommand } from './service.ts';

export function addOpen(program: Command, env: Environment): void {
  serviceCommand(program, 'open', 'open a page in the browser: dashboard, docs, or the sandbox EMR')
    .addArgument(new Argument('<page>').choices(page_names).argParser((page) => page))
    .addHelpText('after', '\nPrints the URL if no browser can be opened.\n')
    .action(async (page: string, options: ServiceOptions) => {
      const { base_url } = await findCredentials(env, options.profile);
      const sandbox = await readSandbox(env);
      const pages = listPages(base_url, sandbox?.base_url === base_url ? sandbox : undefined);
      const url = pages.get(page);
      if (url === undefined) {
        throw new CommandFailure(
          `There is no page '${page}'.${suggest(page, pages.keys())} The pages are: ${[...pages.keys()].join(', ')}.`,
          'usage',
        );
      }
      if (options.json) printJson({ url });
      else printLine(url);
      if (!options.json) await openInBrowser(url, env);
    });
}

/** Opens a URL in the browser of the desktop, if there is one. */
export async function openInBrowser(url: string, env: Environment): Promise<boolean> {
  const opener = openerFor(env);
  if (!opener) return false;
  const [program, ...args] = opener;
  const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true });
  const started = await once(child, 'spawn').then(
    () => true,
    () => false,
  );
  child.unref();
  return started;
}

function openerFor(env: Environment): [string, ...string[]] | undefined {
  if (process.platform === 'darwin') return ['open'];
  if (process.platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  return env.DISPLAY || env.WAYLAND_DISPLAY ? ['xdg-open'] : undefined;
}
