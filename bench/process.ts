import { readFile } from 'node:fs/promises';
import { type Program, startServiceProcess } from '../scripts/serviceProcess.ts';

/** Starts a process of a silent sandbox. */
export function startProcess(role: 'all' | 'worker', env: Record<string, string>): Promise<Program> {
  return startServiceProcess(role, { env: { SANDBOX: 'on', LOG_LEVEL: 'silent', ...env } });
}

/** The resident memory of a process, now or at its peak. Only on Linux. */
export async function memory_mb(pid: number, when: 'now' | 'peak'): Promise<number> {
  const field = when === 'now' ? 'VmRSS' : 'VmHWM';
  const [, kilobytes] = new RegExp(`${field}:\\s+(\\d+)`).exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1024;
}
