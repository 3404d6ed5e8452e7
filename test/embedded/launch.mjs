/** A process that does what the service does at its start, to be killed by the tests: launch.mjs <data_dir> [stop]. */
import { runnerImport } from 'vite';

const [data_dir, then] = process.argv.slice(2);
const started = Date.now();
const { module } = await runnerImport(new URL('../../src/platform/db/embedded/start.ts', import.meta.url).pathname, {
  configFile: false,
});
const ready = Date.now();
try {
  const { stop, ...server } = await module.startEmbedded({ data_dir, settings: { fsync: 'off' } });
  const report = { ...server, import_ms: ready - started, start_ms: Date.now() - ready };
  process.stdout.write(`${JSON.stringify(report)}\n`);
  if (then === 'stop') await stop();
  else setInterval(() => {}, 60_000);
} catch (error) {
  process.stdout.write(`${JSON.stringify({ failure: error.message, name: error.name })}\n`);
  process.exitCode = 1;
}
