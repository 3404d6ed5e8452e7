import { readdirSync, readFileSync } from 'node:fs';

type Process = { pid: number; parent: number; name: string; own_ms: number; reaped_ms: number };

/** Linux reports hundredths of a second on every machine. */
const tick_ms = 10;

/**
 * The CPU time of all processes that `pid` started, and of those that they started. A process that has exited is
 * included once its parent has waited for it; if the parent was killed first, its time is lost. 0 without /proc.
 */
export function descendantsCpuMs(pid: number): number {
  const all = runningProcesses();
  const reaped_ms = all.find((each) => each.pid === pid)?.reaped_ms ?? 0;
  return reaped_ms + listChildren(all, pid).reduce((sum, child) => sum + treeMs(all, child), 0);
}

/** The same for the running children of `pid` with this program name, and what they started. */
export function childrenCpuMs(pid: number, name: string): number {
  const all = runningProcesses();
  return listChildren(all, pid)
    .filter((child) => child.name === name)
    .reduce((sum, child) => sum + treeMs(all, child), 0);
}

function treeMs(all: readonly Process[], { pid, own_ms, reaped_ms }: Process): number {
  return own_ms + reaped_ms + listChildren(all, pid).reduce((sum, child) => sum + treeMs(all, child), 0);
}

function listChildren(all: readonly Process[], pid: number): Process[] {
  return all.filter(({ parent }) => parent === pid);
}

function runningProcesses(): Process[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return [parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'))];
      } catch {
        // It has exited in the meantime.
        return [];
      }
    });
}

/** See proc_pid_stat(5). The name is in parentheses and may contain spaces and parentheses itself. */
function parseStat(stat: string): Process {
  const [pid, name_start, name_end] = [Number.parseInt(stat, 10), stat.indexOf('('), stat.lastIndexOf(')')];
  const fields = stat
    .slice(name_end + 2)
    .split(' ')
    .map(Number);
  const [, parent = 0] = fields;
  const [user = 0, system = 0, reaped_user = 0, reaped_system = 0] = fields.slice(11, 15);
  return {
    pid,
    parent,
    name: stat.slice(name_start + 1, name_end),
    own_ms: (user + system) * tick_ms,
    reaped_ms: (reaped_user + reaped_system) * tick_ms,
  };
}
