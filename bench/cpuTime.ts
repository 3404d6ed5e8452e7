import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The CPU time, in milliseconds, that this process and the embedded PostgreSQL have used. Only on Linux. */
export async function cpuTime_ms(data_dir: string): Promise<{ node: number; postgres: number }> {
  const { user, system } = process.cpuUsage();
  return { node: (user + system) / 1_000, postgres: await serverTime_ms(data_dir) };
}

/** /proc counts in hundredths of a second. */
const tick_ms = 10;

async function serverTime_ms(data_dir: string): Promise<number> {
  const pid_file = await readFile(join(data_dir, 'postgres', 'postmaster.pid'), 'utf8');
  const postmaster = pid_file.split('\n')[0] ?? '';
  let ticks = 0;
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    // A process may end between the two calls.
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
    // After the name in parentheses: state, parent, …, user, system, and the same of children that have ended.
    const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
    if (pid !== postmaster && fields[1] !== postmaster) continue;
    const own = pid === postmaster ? fields.slice(11, 15) : fields.slice(11, 13);
    ticks += own.reduce((sum, each) => sum + Number(each), 0);
  }
  return ticks * tick_ms;
}
