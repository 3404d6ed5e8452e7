import type { Config } from '../config.ts';
import { type Role, startService } from '../main.ts';

/** Runs until it is told to stop. A second signal ends it at once; what was answered is safe all the same. */
export async function serve(config: Config, role: Role): Promise<void> {
  const stopped = new Promise<void>((resolve) => {
    let asked = false;
    const stop = () => {
      if (asked) process.exit(130);
      asked = true;
      resolve();
    };
    process.on('SIGINT', stop);
    process.on('SIGTERM', stop);
  });
  const print = (text: string) => void process.stdout.write(text);
  const service = await startService(config, { role, print });
  await stopped;
  print('Stopping …\n');
  await service.close();
  print('Stopped.\n');
}
