import { StartFailure } from '../../catalog/errors.ts';
import { type Config, type ProcessRole, process_roles } from '../../catalog/settings/config.ts';

/** Loads the module that starts the service, which takes longer than most other commands. */
export type LoadService = () => Promise<{
  startService(
    config: Config,
    options: { role: ProcessRole; print: (text: string) => void },
  ): Promise<{ drain(): Promise<void>; close(): Promise<void> }>;
}>;

/** Ctrl-C can arrive twice, from the terminal and from npm. A signal within this time counts as the same one. */
const same_signal_ms = 1_000;

/** The limit for stopping, whatever hangs (such as an unresponsive database). The next start resumes the work. */
const stop_ms = 25_000;

/** Runs until a signal arrives. A second signal exits immediately; accepted requests are safe even then. */
export async function serve(config: Config, role: ProcessRole, loadService: LoadService): Promise<void> {
  const stopped = new Promise<void>((resolve) => {
    let signaled_at: number | undefined;
    const stop = () => {
      if (signaled_at !== undefined && Date.now() - signaled_at > same_signal_ms) process.exit(130);
      signaled_at ??= Date.now();
      resolve();
    };
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  });
  const print = (text: string) => void process.stdout.write(text);
  const { startService } = await loadService();
  const service = await startService(config, { role, print });
  await stopped;
  print('Stopping …\n');
  await service.drain();
  const timeout = setTimeout(() => {
    print('Stopped before all work had finished. It resumes at the next start.\n');
    process.exit(1);
  }, stop_ms);
  await service.close();
  clearTimeout(timeout);
  print('Stopped.\n');
  // Everything is closed, but a socket without a peer would keep the process alive for minutes.
  process.exit();
}

export function parseRole(text: string): ProcessRole {
  const role = process_roles.find((candidate) => candidate === text);
  if (!role) throw new StartFailure(`--role must be one of ${process_roles.join(', ')}, not '${text}'.`);
  return role;
}
