import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

export const program = fileURLToPath(new URL('../bin/chartwire.js', import.meta.url));

/** Starts the built service and waits until it is ready. */
export async function startProcess(role: 'all' | 'worker', env: Record<string, string>): Promise<ChildProcess> {
  const service = spawn(process.execPath, [program, 'serve', '--role', role], {
    env: { PATH: process.env.PATH ?? '', SANDBOX: 'on', LOG_LEVEL: 'silent', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  await new Promise<void>((resolve, reject) => {
    service.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (output.includes('is ready')) resolve();
    });
    service.once('exit', () => reject(new Error(`The service exited before it was ready:\n${output}`)));
  });
  return service;
}

export async function stopProcess(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}

/** The resident memory of a process, now or at its peak. Only on Linux. */
export async function memory_mb(pid: number, when: 'now' | 'peak'): Promise<number> {
  const field = when === 'now' ? 'VmRSS' : 'VmHWM';
  const [, kilobytes] = new RegExp(`${field}:\\s+(\\d+)`).exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1024;
}
