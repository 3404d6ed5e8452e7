/** Reports a port that is in use before minutes are spent on installing and building. Uses no packages. */
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { parseArgs, parseEnv } from 'node:util';
import { root, ScriptError } from './install.mjs';

/** For `npm start` with these arguments. Wrong settings are left to the service, which explains them. */
export async function requireFreePorts(args) {
  const settings = readSettings();
  for (const [name, standard] of listPorts(settings, readRole(args))) {
    const port = Number(settings[name]?.trim() || standard);
    if (!Number.isInteger(port) || port < 1 || port > 65535) continue;
    for (const host of listHosts(settings, name)) {
      if (!(await isUsed(port, host))) continue;
      throw new ScriptError(
        `Port ${port} is already in use. Stop the program that uses it, or set ${name} to another port.`,
      );
    }
  }
}

/** Not loaded into the environment, where npm would see them. Existing variables take precedence, as in the service. */
function readSettings() {
  const file = join(root, '.env');
  return { ...(existsSync(file) && parseEnv(readFileSync(file, 'utf8'))), ...process.env };
}

function readRole(args) {
  const { values } = parseArgs({ args, options: { role: { type: 'string' } }, strict: false, allowPositionals: true });
  return values.role ?? 'all';
}

/** The names and defaults of the settings in src/catalog/settings/config.ts. */
export function listPorts(settings, role) {
  if (role === 'worker') return [];
  return [['PORT', 4000], ...(isSandbox(settings) && role === 'all' ? [['LARKSPUR_PORT', 4100]] : [])];
}

function isSandbox({ SANDBOX, NODE_ENV }) {
  return SANDBOX?.trim() ? SANDBOX.trim().toLowerCase() === 'on' : NODE_ENV !== 'production';
}

/** As src/http/loopback.ts. Larkspur listens on one address. */
function listHosts(settings, name) {
  const host = settings.HOST?.trim() || (isSandbox(settings) ? 'localhost' : '127.0.0.1');
  if (host !== 'localhost') return [host];
  return name === 'PORT' ? ['127.0.0.1', '::1'] : ['127.0.0.1'];
}

function isUsed(port, host) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', ({ code }) => resolve(code === 'EADDRINUSE'));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(false)));
  });
}
