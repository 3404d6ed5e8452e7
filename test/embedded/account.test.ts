import { chown, link, lstat, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { StartFailure } from '../../src/catalog/errors.ts';
import { ensureFolders } from '../../src/platform/db/embedded/folders.ts';
import {
  type AccountRules,
  account_name,
  ensureSystemUser,
  findUser,
  serverAccount,
} from '../../src/platform/db/embedded/serverAccount.ts';
import { createdDataDir, newDataDir, query, serverPid, start } from './fixture.ts';

const nobody = await findUser('nobody');
const as_root = process.getuid?.() === 0 && nobody !== undefined;

/** Changes the owner of everything in a folder, as version 0.1.0 left it. */
async function giveAll(folder: string, uid: number): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true })) await chown(join(folder, entry), uid, uid);
  await chown(folder, uid, uid);
}

function rulesFor(rules: Partial<AccountRules>): AccountRules & { lines: string[] } {
  const lines: string[] = [];
  return { allow_nobody: false, running: false, log: (line) => void lines.push(line), lines, ...rules };
}

describe.runIf(as_root)('started as root', () => {
  test('the server runs as a user of its own, which twenty concurrent starts create once', async () => {
    const users = await Promise.all(Array.from({ length: 20 }, ensureSystemUser));
    const user = await findUser(account_name);
    expect(user).toBeDefined();
    expect(users).toStrictEqual(users.map(() => user));
    const data_dir = await newDataDir();
    const server = await start(data_dir);
    const status = await readFile(`/proc/${await serverPid(data_dir)}/status`, 'utf8');
    expect(Number(/^Uid:\t(\d+)/m.exec(status)?.[1])).toBe(user?.uid);
    expect(user?.uid).not.toBe(nobody?.uid);
    await server.stop();
  });

  test('a database of nobody is given to that user at the next start, and keeps its rows', async () => {
    const data_dir = await createdDataDir();
    const cluster = join(data_dir, 'postgres');
    const first = await start(data_dir);
    await query(first, 'create table kept as select 1 as n');
    await first.stop();
    await giveAll(cluster, nobody?.uid ?? -1);
    const second = await start(data_dir);
    expect(await query(second, 'select n from kept')).toEqual([{ n: 1 }]);
    const user = await findUser(account_name);
    const owners = await Promise.all(
      [cluster, join(cluster, 'base'), join(cluster, 'PG_VERSION')].map(async (path) => (await stat(path)).uid),
    );
    expect(owners).toStrictEqual([user?.uid, user?.uid, user?.uid]);
    await second.stop();
  });

  test('links that nobody left in its database do not give away other files', async () => {
    const data_dir = await newDataDir();
    const folders = await ensureFolders(data_dir);
    const secret = join(data_dir, 'secret');
    await writeFile(secret, '');
    await mkdir(folders.cluster);
    await symlink(secret, join(folders.cluster, 'symbolic'));
    await giveAll(folders.cluster, nobody?.uid ?? -1).catch(() => {});
    await chown(secret, 0, 0);
    const user = await serverAccount(folders, rulesFor({}));
    expect((await stat(secret)).uid).toBe(0);
    expect((await lstat(join(folders.cluster, 'symbolic'))).uid).toBe(user.uid);
    await chown(folders.cluster, nobody?.uid ?? -1, nobody?.gid ?? -1);
    await link(secret, join(folders.cluster, 'hard'));
    await expect(serverAccount(folders, rulesFor({}))).rejects.toThrow(/has a second name/);
    expect((await stat(secret)).uid).toBe(0);
  });

  test('without a user of its own it warns if nobody is allowed, and refuses otherwise', async () => {
    const folders = await ensureFolders(await newDataDir());
    const ownUser = async () => undefined;
    const allowed = rulesFor({ allow_nobody: true, ownUser });
    expect(await serverAccount(folders, allowed)).toStrictEqual({ ...nobody, switched: true });
    expect(allowed.lines).toStrictEqual([
      'Warning: The embedded database runs as "nobody" (the user chartwire-db cannot be created): every process of that user can read and change it. Create the user (useradd --system chartwire-db), start as an ordinary user, or set DATABASE_URL.',
    ]);
    const refused = serverAccount(folders, rulesFor({ ownUser }));
    await expect(refused).rejects.toThrow(StartFailure);
    await expect(refused).rejects.toThrow(/To accept the risk, add --allow-nobody\.$/);
  });

  test('a server that already runs as nobody keeps its files, and production refuses it', async () => {
    const folders = await ensureFolders(await newDataDir());
    await mkdir(folders.cluster);
    await chown(folders.cluster, nobody?.uid ?? -1, nobody?.gid ?? -1);
    await expect(serverAccount(folders, rulesFor({ running: true }))).rejects.toThrow(/Stop it, and start again/);
    const allowed = rulesFor({ running: true, allow_nobody: true });
    expect(await serverAccount(folders, allowed)).toMatchObject({ uid: nobody?.uid });
    expect(allowed.lines).toHaveLength(1);
    expect((await stat(folders.cluster)).uid).toBe(nobody?.uid);
  });
});
