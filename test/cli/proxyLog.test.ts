import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { findQueryLogs } from '../../src/surfaces/cli/proxyLog.ts';

async function configure(files: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(join(process.env.CHARTWIRE_TEST_ROOT ?? tmpdir(), 'nginx-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  return folder;
}

const server = (log: string, port = 4000) =>
  `server {\n  ${log}\n  location / { proxy_pass http://127.0.0.1:${port}; }\n}\n`;

test('finds an nginx that logs query strings of our service, and no other', async () => {
  const folder = await configure({
    'nginx.conf': `http {
      log_format main '$remote_addr "$request" $status';
      log_format short '$remote_addr "$request_method $uri" $status';
    }`,
    'sites-enabled/default-format': server(''),
    'sites-enabled/commented': server('# access_log off;'),
    'sites-enabled/named-format': server('access_log /var/log/a.log main;'),
    'sites-enabled/unnamed-format': server('access_log /var/log/a.log;'),
    'sites-enabled/safe-format': server('access_log /var/log/a.log short buffer=4k;'),
    'sites-enabled/off': server('access_log off;'),
    'sites-enabled/another-service': server('', 4001),
  });
  const files = await findQueryLogs(folder, 4000);
  expect(files.map((path) => path.slice(folder.length + 1)).sort()).toStrictEqual([
    'sites-enabled/commented',
    'sites-enabled/default-format',
    'sites-enabled/named-format',
    'sites-enabled/unnamed-format',
  ]);
});

test('finds nothing without nginx', async () => {
  expect(await findQueryLogs('/nonexistent', 4000)).toStrictEqual([]);
});

test('accepts the configuration of the guide', async () => {
  const guide = await readFile(new URL('../../docs/guides/reverse-proxy.md', import.meta.url), 'utf8');
  const [, text = ''] = /## nginx\s+```\n([\s\S]*?)```/.exec(guide) ?? [];
  expect(text).toContain('proxy_pass http://127.0.0.1:4000');
  expect(await findQueryLogs(await configure({ 'conf.d/chartwire.conf': text }), 4000)).toStrictEqual([]);
});
