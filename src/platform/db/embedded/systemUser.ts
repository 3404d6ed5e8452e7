import { execFile } from 'node:child_process';
import { access, constants, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

export type User = { uid: number; gid: number };

/** The user that runs the embedded database if the service is started as root. */
export const account_name = 'chartwire-db';

/** shadow-utils (most systems), then BusyBox (Alpine). No home, no shell, no password. */
const commands: readonly [string, string[]][] = [
  [
    'useradd',
    ['--system', '--user-group', '--no-create-home', '--home-dir', '/nonexistent', '--shell', '/usr/sbin/nologin'],
  ],
  ['adduser', ['-S', '-D', '-H', '-h', '/nonexistent', '-s', '/sbin/nologin']],
];
const attempts_max = 20;
const retry_ms = 100;

/** Finds the user, or creates it. Undefined if this system does not allow that (a read-only /etc, missing tools). */
export async function ensureSystemUser(): Promise<User | undefined> {
  // Concurrent starts: useradd locks /etc/passwd, and the second one fails until the first one is done.
  for (let attempt = 1; attempt <= attempts_max; attempt++) {
    const found = await findUser(account_name);
    if (found !== undefined) return found;
    if (!(await isWritable('/etc/passwd')) || !(await createUser())) return undefined;
    if (attempt > 1) await sleep(retry_ms);
  }
  return findUser(account_name);
}

export async function findUser(name: string): Promise<User | undefined> {
  const passwd = await readFile('/etc/passwd', 'utf8').catch(() => '');
  const fields = passwd
    .split('\n')
    .map((line) => line.split(':'))
    .find(([first]) => first === name);
  const [, , uid, gid] = fields ?? [];
  return uid === undefined || gid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) };
}

/** On a read-only file system not even for root. */
async function isWritable(file: string): Promise<boolean> {
  return access(file, constants.W_OK).then(
    () => true,
    () => false,
  );
}

/** Whether it is worth looking for the user now: a program created it, or failed because another one was at work. */
async function createUser(): Promise<boolean> {
  for (const [program, args] of commands) {
    try {
      await promisify(execFile)(program, [...args, account_name], {
        timeout: 10_000,
        env: { PATH: '/usr/sbin:/sbin:/usr/bin:/bin' },
      });
      return true;
    } catch (error) {
      const { code } = error as { code?: unknown };
      // useradd: 1 cannot lock the file, 9 the user exists.
      if (program === 'useradd' && (code === 1 || code === 9)) return true;
    }
  }
  return false;
}
