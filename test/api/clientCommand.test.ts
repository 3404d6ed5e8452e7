import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createClientCommand } from '../../src/cli/createClient.ts';
import { rotateKeysCommand } from '../../src/cli/rotateKeys.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';

let world: TestSandbox;
beforeAll(async () => {
  world = await startSandbox();
});
afterAll(() => world.close());

const create = (values: Parameters<typeof createClientCommand>[1]) => createClientCommand(world.ctx.config, values);

test('creates a client with origins, callback URLs, logo and color', async () => {
  const logo = join(world.env.DATA_DIR ?? '', 'logo.svg');
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
  const [row] = await world.owner`SELECT * FROM clients WHERE name = 'Branded'`;
  expect(row).toMatchObject({
    mode: 'test',
    callback_urls: ['https://app.example.org/back?x=1'],
    frame_origins: ['https://app.example.org', 'https://app.example.org:8443'],
    logo: expect.stringMatching(/^data:image\/svg\+xml;base64,/),
    colour: '#b4235a',
  });
  expect(printed).toContain(row?.public_id);
  const records =
    await world.owner`SELECT action, actor_kind, actor FROM audit_records WHERE client_id = ${String(row?.id)}`;
  expect([...records]).toStrictEqual([{ action: 'client.create', actor_kind: 'system', actor: 'command line' }]);
});

test('creates and publishes new signing keys', async () => {
  const published = async () => (await world.api.call('GET', '/.well-known/jwks.json')).body.keys.length;
  const before = await published();
  const print = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  await rotateKeysCommand(world.ctx.config);
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
  expect(await world.owner`SELECT FROM clients WHERE name = 'X'`).toHaveLength(0);
});
