import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test, vi } from 'vitest';
import { createClientCommand, rotateKeysCommand } from '../../../src/surfaces/cli/credentials.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
});

const create = (values: Parameters<typeof createClientCommand>[1]) => createClientCommand(fixture.ctx.config, values);

test('creates a client with origins, callback URLs, logo and color', async () => {
  const logo = join(fixture.env.DATA_DIR ?? '', 'logo.svg');
  await writeFile(logo, '<svg xmlns="http://www.w3.org/2000/svg"/>');
  const print = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  await create({
    name: 'Branded',
    'callback-url': ['https://app.example.org/back?x=1'],
    'frame-origin': ['https://app.example.org', 'https://APP.example.org:8443/'],
    logo,
    colour: '#B4235A',
  });
  const printed = print.mock.calls.join('');
  print.mockRestore();
  const [row] = await fixture.owner`SELECT * FROM clients WHERE name = 'Branded'`;
  expect(row).toMatchObject({
    mode: 'test',
    callback_urls: ['https://app.example.org/back?x=1'],
    frame_origins: ['https://app.example.org', 'https://app.example.org:8443'],
    logo: expect.stringMatching(/^data:image\/svg\+xml;base64,/),
    colour: '#b4235a',
  });
  expect(printed).toContain(row?.public_id);
  const records =
    await fixture.owner`SELECT action, actor_kind, actor FROM audit_records WHERE client_id = ${String(row?.id)}`;
  expect([...records]).toStrictEqual([{ action: 'client.create', actor_kind: 'system', actor: 'command line' }]);
});

test('creates and publishes new signing keys', async () => {
  const client = fixture.sandbox.client_id;
  const path = `/.well-known/jwks/${client}/sandbox.json`;
  const published = async () => (await fixture.api.call('GET', path)).body.keys.length;
  const before = await published();
  const print = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  await rotateKeysCommand(fixture.ctx.config, { client });
  const printed = print.mock.calls.join('');
  print.mockRestore();
  expect(printed).toMatch(/used in 24 hours/);
  expect(await published()).toBe(before + 2);
});

test.each([
  [{}, /A name is required/],
  [{ name: 'X', mode: 'demo' }, /--mode must be live or test/],
  [{ name: 'X', 'frame-origin': ['https://app.example.org/path'] }, /--frame-origin must be origins/],
  [{ name: 'X', 'frame-origin': ['*'] }, /--frame-origin must be origins/],
  [{ name: 'X', 'frame-origin': ["https://a.example 'unsafe-inline'"] }, /--frame-origin must be origins/],
  [{ name: 'X', 'callback-url': ['javascript:alert(1)'] }, /--callback-url must be URLs/],
  [{ name: 'X', colour: 'red' }, /--colour must be written as #rrggbb/],
  [{ name: 'X', logo: 'logo.gif' }, /--logo must be a/],
  [{ name: 'X', logo: 'nowhere.png' }, /cannot read the file/],
])('an invalid option prints one sentence and creates no client: %o', async (values, sentence) => {
  await expect(create(values)).rejects.toThrow(sentence);
  expect(await fixture.owner`SELECT FROM clients WHERE name = 'X'`).toHaveLength(0);
});
