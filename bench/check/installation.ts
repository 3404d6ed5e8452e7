import { execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from '../../scripts/freePort.ts';
import { linkAccount } from '../../scripts/linkAccount.ts';
import { serviceCommand, serviceEnv } from '../../scripts/serviceProcess.ts';
import type { Sandbox } from '../../src/surfaces/sandbox/seedSandbox.ts';
import { startProcess } from '../process.ts';
import { type Api, createApi } from './api.ts';
import type { EmrMode } from './emr.ts';

/** The built service in its own process, with an embedded database and Larkspur, and what the checks do with it. */
export type Installation = {
  sandbox: Sandbox;
  pid: number;
  /** The sandbox's client: the one that must not be affected. */
  other: Api;
  /** A client of its own with accounts on an EMR of its own, which misbehaves on demand. */
  withAttacker<T>(accounts: number, work: (attacker: Attacker) => Promise<T>): Promise<T>;
  close(): Promise<void>;
};

export type Attacker = { accounts: Api[]; setEmr(mode: EmrMode): Promise<void> };

export async function startInstallation(): Promise<Installation> {
  const data_dir = await mkdtemp(join(tmpdir(), 'chartwire-bench-'));
  const [port, larkspur_port] = [await freePort(), await freePort()];
  const env = {
    ...{ DATA_DIR: data_dir, PORT: `${port}`, LARKSPUR_PORT: `${larkspur_port}` },
    // Requests of known clients are not what is measured; limits by address stay as they are.
    ...{ LOG_LEVEL: 'silent', SANDBOX: 'on', RATE_LIMIT: '1000000', RATE_BURST: '1000000', WEBHOOK_ENDPOINTS: '1000' },
  };
  const service = await startProcess('all', env);
  const sandbox: Sandbox = JSON.parse(await readFile(join(data_dir, 'sandbox.json'), 'utf8'));
  const { client_id, client_secret, access_token } = sandbox;
  let attackers = 0;
  return {
    sandbox,
    pid: service.pid,
    other: createApi(sandbox.base_url, { client_id, client_secret, access_token }),
    withAttacker: async (accounts, work) => {
      const emr = await startEmr(sandbox.larkspur.url);
      const name = `attacker-${++attackers}`;
      const client = await createClient(env, name);
      const linked: Api[] = [];
      try {
        for (let n = 0; n < accounts; n++)
          linked.push(await linkUser(sandbox, client, { emr_url: emr.url, org_id: name, n }));
        return await work({ accounts: linked, setEmr: emr.setMode });
      } finally {
        // Ends the jobs and deliveries that are left.
        await Promise.all(linked.map((api) => api.call('DELETE', '/v1/account')));
        await deleteWebhooks(sandbox.base_url, client);
        await emr.close();
      }
    },
    close: async () => {
      await service.stop();
      await rm(data_dir, { recursive: true, force: true });
    },
  };
}

type ClientCredentials = { client_id: string; client_secret: string };

async function createClient(env: Record<string, string>, name: string): Promise<ClientCredentials> {
  const [file = '', ...program] = serviceCommand();
  const command = [...program, 'clients', 'create', '--name', name];
  const { stdout } = await promisify(execFile)(file, command, { env: serviceEnv(env) });
  const [, client_id, client_secret] = /client_id +(\S+)\s+client_secret +(\S+)/.exec(stdout) ?? [];
  if (!client_id || !client_secret) throw new Error('The client was not created.');
  return { client_id, client_secret };
}

async function deleteWebhooks(base_url: string, client: ClientCredentials): Promise<void> {
  const api = createApi(base_url, client);
  const { webhook_urls } = await api.call('GET', '/v1/webhook');
  for (const { id } of webhook_urls) await api.call('DELETE', `/v1/webhook/${id}`);
}

/** Links the n-th user of the attacker's practice. */
async function linkUser(
  { base_url, larkspur }: Sandbox,
  client: ClientCredentials,
  { emr_url, org_id, n }: { emr_url: string; org_id: string; n: number },
): Promise<Api> {
  const person = larkspur.staff[n % larkspur.staff.length];
  const link = { user_id: `user-${n}`, org_id, emr_url, person };
  return createApi(base_url, { ...client, access_token: await linkAccount(createApi(base_url, client).call, link) });
}

/** Starts an EMR in a process of its own: what it sends must not slow down the measurements. */
async function startEmr(
  larkspur_url: string,
): Promise<{ url: string; setMode(mode: EmrMode): Promise<void>; close(): Promise<void> }> {
  const child = fork(fileURLToPath(new URL('emr.js', import.meta.url)), [larkspur_url]);
  const [url] = await once(child, 'message');
  return {
    url,
    setMode: async (mode) => {
      const done = once(child, 'message');
      child.send(mode);
      await done;
    },
    close: async () => {
      const exited = once(child, 'exit');
      if (child.kill('SIGKILL')) await exited;
    },
  };
}
