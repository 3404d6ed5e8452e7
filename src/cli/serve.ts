import type { Config } from '../config.ts';
import { type Role, startService } from '../main.ts';

/** Within this time a second signal is the same one: after Ctrl-C the terminal sends it to us, and npm passes it on. */
const same_signal_ms = 1_000;

/** Stopping takes no longer, whatever hangs (a database that no longer answers): the next start takes it up. */
const stop_ms = 25_000;

/** Runs until it is told to stop. Told again later, it ends at once; what was answered is safe all the same. */
export async function serve(config: Config, role: Role): Promise<void> {
  const stopped = new Promise<void>((resolve) => {
    let asked_at: number | undefined;
    const stop = () => {
      if (asked_at !== undefined && Date.now() - asked_at > same_signal_ms) process.exit(130);
      asked_at ??= Date.now();
      resolve();
    };
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  });
  const print = (text: string) => void process.stdout.write(text);
  const service = await startService(config, { role, print });
  await stopped;
  print('Stopping …\n');
  const late = setTimeout(() => {
    print('Stopped, before everything had ended.\n');
    process.exit(1);
  }, stop_ms);
  await service.close();
  clearTimeout(late);
  print('Stopped.\n');
  // All is closed; a socket whose other side is gone would still keep the process for minutes.
  process.exit();
}
