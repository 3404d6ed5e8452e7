import { existsSync } from 'node:fs';
import { register } from 'node:module';

// Tests that end their database need the driver mended as the product has it (src/db/mendDriver.ts). The loader runs
// plain JavaScript, so it is the built one; without a build the other tests still run.
const hooks = new URL('../../dist/src/db/driverHooks.js', import.meta.url);
// This runs once per test file, and files share a process: hooks that were added twice before a file loads the driver
// would mend it twice, which they refuse.
const added = Symbol.for('chartwire.driver_hooks');
if (!(added in globalThis) && existsSync(hooks)) {
  Object.assign(globalThis, { [added]: true });
  register(hooks);
}
