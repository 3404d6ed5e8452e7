import { existsSync } from 'node:fs';
import { register } from 'node:module';

// Tests that end their database need the driver mended as the product has it (src/db/mendDriver.ts). The loader runs
// plain JavaScript, so it is the built one; without a build the other tests still run.
const hooks = new URL('../../dist/src/db/driverHooks.js', import.meta.url);
if (existsSync(hooks)) register(hooks);
