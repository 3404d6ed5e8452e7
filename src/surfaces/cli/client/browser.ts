import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Environment } from '../../../catalog/settings/settingValues.ts';

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
