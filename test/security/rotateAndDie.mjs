/** A process that rotates the master key and kills itself at a step: rotateAndDie.mjs <step>. */
import { runnerImport } from 'vite';

const file = new URL('rotateUntil.ts', import.meta.url).pathname;
const { module } = await runnerImport(file, { configFile: false, logLevel: 'silent' });
await module.rotateUntil(process.argv[2]);
