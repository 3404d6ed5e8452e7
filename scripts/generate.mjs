/**
 * `npm run generate`: builds, and writes the generated files. The service uses its own client library, so a new event or
 * endpoint does not compile before the library has it. The compiler writes its output all the same: the files are
 * generated from that, and compiled again.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { build } from './build.mjs';
import { ensureInstalled, root, runScript, ScriptError } from './install.mjs';

await runScript(async () => {
  ensureInstalled();
  const failure = await build().catch((error) => error);
  if (failure && !(failure instanceof ScriptError)) throw failure;
  if (failure) process.stdout.write('The client library may lack what the sources use. Generating it all the same …\n');
  const program = join(root, 'dist/scripts/generate.js');
  const { status } = spawnSync(process.execPath, [program, ...process.argv.slice(2)], { cwd: root, stdio: 'inherit' });
  if (status !== 0) throw new ScriptError('Nothing was generated, or not everything. See the messages above.');
  if (failure) await build();
});
