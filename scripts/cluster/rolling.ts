import { join } from 'node:path';
import { freePort } from '../freePort.ts';
import { type Acknowledged, startLoad } from './load.ts';
import { createFile } from './postgres.ts';
import { print, startSystemProgram, until } from './programs.ts';
import type { Installation, ServiceProcess } from './service.ts';

export type RollingRestart = { restarted: number; acknowledged: readonly Acknowledged[]; failed_requests: number };

const writes_between = 40;

/** Restarts processes one after the other, under load that reaches the API through HAProxy, which follows /readyz. */
export async function restartRolling(
  folder: string,
  installation: Installation,
  processes: readonly ServiceProcess[],
  writers: { writers: number; pause_ms: number },
): Promise<RollingRestart> {
  const port = await freePort();
  const api = processes.filter(({ role }) => role === 'api');
  const file = join(folder, 'haproxy-http.cfg');
  createFile(file, proxySettings(port, api));
  const proxy = startSystemProgram(['/usr/sbin/haproxy', '-db', '-f', file], {
    log_file: join(folder, 'haproxy-http.log'),
    as_postgres: true,
  });
  const url = `http://127.0.0.1:${port}`;
  try {
    await until('HAProxy reaches the API', async () => (await fetch(`${url}/readyz`)).status === 200);
    const load = startLoad(installation.sandbox(), [url], writers);
    const more = async () => {
      const before = load.acknowledged.length;
      await until('writes', () => load.acknowledged.length >= before + writes_between);
    };
    for (const each of processes) {
      await more();
      await each.stop();
      const next = await installation.start(each.role, { PORT: new URL(each.url).port });
      // The next one stops only when HAProxy uses this one again.
      if (each.role === 'api') await until('ready', async () => (await fetch(`${next.url}/readyz`)).status === 200);
      await more();
    }
    await load.stop();
    const failed_requests = [...load.failures.values()].reduce((sum, count) => sum + count, 0);
    print(`rolling restart: ${load.acknowledged.length} writes, ${failed_requests} failed requests`);
    return { restarted: processes.length, acknowledged: load.acknowledged, failed_requests };
  } finally {
    await proxy.stop();
  }
}

/** A process that drains fails two checks, one second apart, and then gets no new requests. */
function proxySettings(port: number, api: readonly ServiceProcess[]): string {
  const servers = api.map(({ url }, n) => `  server api${n + 1} ${new URL(url).host} check`);
  const lines = [
    ...['defaults', '  mode http', '  timeout connect 2s', '  timeout client 1m', '  timeout server 1m'],
    ...['listen api', `  bind 127.0.0.1:${port}`, '  option httpchk GET /readyz', '  http-check expect status 200'],
    ...['  default-server inter 1s fall 2 rise 1', ...servers],
  ];
  return `${lines.join('\n')}\n`;
}
