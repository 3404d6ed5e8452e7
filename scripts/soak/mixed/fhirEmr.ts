/** Runs the FHIR server of the tests, which is not part of the build. */
import { join } from 'node:path';
import { runnerImport } from 'vite';
import { root } from '../../serviceProcess.ts';

await runnerImport(join(root, 'test/harness/fhir/program.ts'), { root, configFile: false, logLevel: 'error' });
