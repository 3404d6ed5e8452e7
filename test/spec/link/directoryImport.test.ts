import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { findProblems } from '../../../src/product/alerts/conditions.ts';
import { refreshDirectory } from '../../../src/product/directory/refreshDirectory.ts';
import { readQueueDepth } from '../../../src/product/jobs/queueDepth.ts';
import { runHere } from '../../cli/support.ts';
import {
  at,
  belongsTo,
  brands,
  endpointAt,
  inCity,
  inVersion,
  organization,
  writeList,
} from '../../harness/practiceLists.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { type Receiver, respondWith, startReceiver } from '../../harness/servers/receiver.ts';

let fixture: TestSandbox;
let server: Receiver;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  server = await startReceiver();
});
afterAll(async () => {
  await server.close();
  await fixture.close();
});
beforeEach(() => fixture.owner`DELETE FROM directory_sources`);

async function command(...args: string[]) {
  const { code, stdout, stderr } = await runHere(['directory', ...args, '--json'], fixture.env);
  return { code, stderr, result: code === 0 ? JSON.parse(stdout) : undefined };
}

async function importList(content: unknown, ...options: string[]) {
  const { code, stderr, result } = await command('import', await writeList(content), ...options);
  expect(code, stderr).toBe(0);
  return result;
}

type Stored = {
  id: string;
  name: string;
  aliases: string[];
  city: string;
  state: string;
  parent: string;
  address: string;
};

/** The stored practices, by name. */
function practices(): Promise<Stored[]> {
  return fixture.owner<Stored[]>`
    SELECT id, name, aliases, city, state, parent, address FROM practices ORDER BY name, address`;
}

const none = { without_name: 0, without_address: 0, private_address: 0, invalid_address: 0, unsupported: 0 };
const url = (name: string) => `https://${name}.example.org/api/FHIR/R4`;

test(row('DIR-01'), async () => {
  const bundle = brands(
    // Before what it refers to.
    organization('f1', 'Cedar Grove Pediatrics', { ...belongsTo('d1'), ...inCity('Salem', 'Oregon') }),
    organization('d1', 'Department', belongsTo('b1')),
    organization('b1', 'Cedar Grove Health', { ...at('e1'), alias: ['CGH'], ...inCity('Portland', 'OR') }),
    organization('b2', 'Hillside Clinic', at('e2', 'e3')),
    organization('closed', 'Closed Clinic', { ...at('e2'), active: false }),
    endpointAt('e1', url('cedar')),
    endpointAt('e2', url('hillside')),
    endpointAt('e3', 'https://hillside.example.org/second/FHIR/R4'),
    endpointAt('e4', url('off'), { status: 'off' }),
    organization('b3', 'Switched Off', at('e4')),
    organization('loop', 'Loop', belongsTo('loop')),
  );
  const result = await importList(bundle);
  expect(result).toMatchObject({
    practices: 5,
    left_out: { ...none, without_address: 2 },
    removed: 0,
    held_back: null,
  });
  expect(await practices()).toMatchObject([
    {
      name: 'Cedar Grove Health',
      aliases: ['CGH'],
      city: 'Portland',
      state: 'OR',
      parent: null,
      address: url('cedar'),
    },
    { name: 'Cedar Grove Pediatrics', city: 'Salem', state: 'OR', parent: 'Department', address: url('cedar') },
    { name: 'Department', parent: 'Cedar Grove Health', address: url('cedar') },
    { name: 'Hillside Clinic', address: url('hillside') },
    { name: 'Hillside Clinic', address: 'https://hillside.example.org/second/FHIR/R4' },
  ]);
});

test(row('DIR-02'), async () => {
  const contained = (id: string, name: string, state: string) => ({
    resource: {
      ...{ resourceType: 'Endpoint', id, status: 'active', address: url(id), managingOrganization: { id: '#O1' } },
      contained: [{ resourceType: 'Organization', id: 'O1', name, address: [{ city: 'Kansas City', state }] }],
    },
  });
  const named = {
    resource: { resourceType: 'Endpoint', id: 'named', name: 'Named\tEndpoint ', address: url('named') },
  };
  const managed = {
    resource: { ...endpointAt('m', url('managed')), managingOrganization: { reference: 'Organization/1' } },
  };
  const manager = { resource: organization('1', 'Managing Clinic') };
  const entry = [
    contained('a', 'Valley Hospital', 'Missouri'),
    contained('b', 'Plains Hospital', 'KS'),
    named,
    managed,
    manager,
  ];
  expect(await importList({ resourceType: 'Bundle', entry })).toMatchObject({ practices: 4, left_out: none });
  expect(await practices()).toMatchObject([
    { name: 'Managing Clinic', address: url('managed') },
    { name: 'Named Endpoint', address: url('named') },
    { name: 'Plains Hospital', city: 'Kansas City', state: 'KS', address: url('b') },
    { name: 'Valley Hospital', city: 'Kansas City', state: 'MO', address: url('a') },
  ]);
});

test(row('DIR-03'), async () => {
  const csv = [
    '\ufeffOrganization Name,FHIR Base URL,City,State,Aliases,Parent',
    `"Smith, Jones & Partners",${url('smith')},Austin,Texas,"SJP;Smith ""Jr"" Clinic",Lone Star Health`,
    '',
    `"Two\nlines",${url('lines')},,,,`,
  ].join('\r\n');
  expect(await importList(csv)).toMatchObject({ practices: 2, left_out: none });
  expect(await practices()).toMatchObject([
    {
      ...{ name: 'Smith, Jones & Partners', city: 'Austin', state: 'TX', parent: 'Lone Star Health' },
      aliases: ['SJP', 'Smith "Jr" Clinic'],
    },
    { name: 'Two lines', city: null, state: null, parent: null, address: url('lines') },
  ]);
  await fixture.owner`DELETE FROM directory_sources`;
  const objects = [
    { name: 'Array Clinic', url: url('array'), city: 'Boise', state: 'idaho', aliases: ['AC', 'Clinic A'] },
    { name: 'Other Product', url: 'https://other.example.org', emr_name: 'Larkspur' },
    { name: 'Unknown Product', url: 'https://other.example.org', emr_name: 'papyrus' },
    'not an object',
  ];
  const result = await importList(objects);
  expect(result).toMatchObject({ practices: 2, left_out: { ...none, unsupported: 1, without_name: 1 } });
  expect(await fixture.owner`SELECT name, state, aliases, connector FROM practices ORDER BY name`).toEqual([
    { name: 'Array Clinic', state: 'ID', aliases: ['AC', 'Clinic A'], connector: 'fhir' },
    { name: 'Other Product', state: null, aliases: [], connector: 'larkspur' },
  ]);
});

test(row('DIR-04'), async () => {
  const addresses = {
    one: 'https://ehr.clinic.services.local/fhir',
    two: 'https://ehrserver/fhir',
    three: 'https://10.1.2.3/fhir',
    four: 'https://[fd00::1]/fhir',
    five: 'http://public.example.org/fhir',
    six: 'https://user:password@public.example.org/fhir',
    seven: 'https://public.example.org/v2/argonaut/v1',
    eight: 'https://public.example.org/FHIR/DSTU2',
  };
  const names = Object.entries(addresses).map(([name, address]) => ({ name, url: address }));
  const bundle = brands(
    organization('old', 'Old Version', at('dstu2')),
    endpointAt('dstu2', url('old'), inVersion('1.0.2')),
    organization('mixed', 'Both Versions', at('dstu2', 'r4')),
    endpointAt('r4', url('mixed')),
    organization('blank', ' . ', at('r4')),
    organization('none', 'No Address'),
    // Its name has a number that only looks like a version.
    organization('stu6', 'Named Six', at('six')),
    endpointAt('six', 'https://public.example.org/v2/uscore/STU6', { extension: [] }),
  );
  const result = await importList(bundle);
  expect(result.left_out).toEqual({ ...none, unsupported: 2, without_name: 1, without_address: 1 });
  expect(await practices()).toMatchObject([{ name: 'Both Versions', address: url('mixed') }, { name: 'Named Six' }]);
  await fixture.owner`DELETE FROM directory_sources`;
  const flat = await importList([...names, { url: url('nameless') }, { name: 'Usable', url: url('usable') }]);
  const expected = { private_address: 4, invalid_address: 2, unsupported: 2, without_name: 1, without_address: 0 };
  expect(flat).toMatchObject({ practices: 1, left_out: expected });
  const env = { ...fixture.env, OUTBOUND_ALLOW_EMR: 'ehrserver,10.1.2.3' };
  const { stdout } = await runHere(['directory', 'import', await writeList(names), '--json'], env);
  expect(JSON.parse(stdout)).toMatchObject({
    practices: 2,
    left_out: { ...expected, private_address: 2, without_name: 0 },
  });
});

test(row('DIR-06'), async () => {
  const file = await writeList([{ name: 'First Clinic', url: url('first') }]);
  expect((await command('import', file)).code).toBe(0);
  const [before] = await practices();
  const broken: [string, RegExp][] = [
    ['[{"name":"Second Clinic","url":"https://second.example.org"},', /incomplete/],
    ['{"resourceType":"Bundle","entry":[{"resource":}', /not valid JSON/],
    ['[]', /it has none/],
    ['{"resourceType":"Bundle"}', /it has none/],
    ['[{"name":"Second Clinic","url":"https://intranet"}]', /it has 1, but none with a name and an address/],
    ['<html></html>', /CSV whose header has the columns name and url/],
    ['city,state\nBoise,ID', /CSV whose header has the columns name and url/],
  ];
  for (const [content, message] of broken) {
    await writeFile(file, content);
    const { code, stderr } = await command('import', file);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^Nothing was imported\. The list .+\n$/);
    expect(stderr).toMatch(message);
    expect(await practices()).toEqual([before]);
  }
  // A list that never had a practice is not kept.
  expect((await command('import', await writeList('[]'))).code).toBe(1);
  expect((await command('list')).result.sources).toMatchObject([{ source: file, practices: 1 }]);
  const missing = await command('import', `${file}.gone`);
  expect(missing.stderr).toBe(`${file}.gone is neither a file nor an https URL.\n`);
});

test(row('DIR-07'), async () => {
  const list = (count: number, city: string) =>
    JSON.stringify(Array.from({ length: count }, (_, n) => ({ id: n, name: `Clinic ${n}`, url: url(`c${n}`), city })));
  const file = await writeList(list(40, 'Boise'));
  expect((await command('import', file)).result).toMatchObject({ practices: 40 });
  const ids = async () => new Map((await practices()).map(({ id, name }) => [name, id]));
  const before = await ids();
  await writeFile(file, list(38, 'Boise'));
  expect((await command('import', file)).result).toMatchObject({ practices: 38, removed: 2, held_back: null });
  const after = await ids();
  expect(after.size).toBe(38);
  for (const [name, id] of after) expect(id).toBe(before.get(name));

  const seen = () => fixture.owner<{ last_seen: Date }[]>`SELECT last_seen FROM practices WHERE name = 'Clinic 1'`;
  const [earlier] = await seen();
  await writeFile(file, list(2, 'Boise'));
  const incomplete = await command('import', file);
  expect(incomplete.result).toMatchObject({ practices: 38, removed: 0, held_back: { missing: 36, stored: 38 } });
  const [later] = await seen();
  expect(later?.last_seen.getTime()).toBeGreaterThan(earlier?.last_seen.getTime() ?? Number.NaN);
  expect((await command('list')).result.sources).toMatchObject([{ held_back: { missing: 36, stored: 38 } }]);
  const accepted = await command('import', file, '--accept-removals');
  expect(accepted.result).toMatchObject({ practices: 2, removed: 36, held_back: null });
  expect((await command('list')).result.sources).toMatchObject([{ held_back: null, practices: 2 }]);
});

const list_url = () => `${server.url}/list`;
const makeDue = () => fixture.owner`UPDATE directory_sources SET next_read_at = now()`;

test(row('DIR-08'), async () => {
  server.respond = (response, received) => {
    const body = JSON.stringify([{ name: 'Remote Clinic', url: url('remote') }]);
    const unchanged = received.headers['if-none-match'] === 'W/"1"';
    (unchanged ? respondWith(304) : respondWith(200, { etag: 'W/"1"' }, body))(response, received);
  };
  const before = server.received.length;
  expect((await command('import', list_url())).result).toMatchObject({ source: list_url(), practices: 1 });
  const [stored] = await practices();
  const next = async () => {
    const [source] = await fixture.owner`
      SELECT extract(epoch FROM next_read_at - now()) / 86400 AS days FROM directory_sources`;
    return Number(source?.days);
  };
  expect(await next()).toBeGreaterThan(6);
  expect(await next()).toBeLessThan(8);
  await refreshDirectory(fixture.ctx);
  expect(server.received.length).toBe(before + 1);
  await makeDue();
  await Promise.all([refreshDirectory(fixture.ctx), refreshDirectory(fixture.ctx)]);
  expect(server.received.length).toBe(before + 2);
  expect(server.received.at(-1)?.headers['if-none-match']).toBe('W/"1"');
  expect(await practices()).toEqual([stored]);
  expect(await next()).toBeGreaterThan(6);
  // An operator's import is never conditional.
  expect((await command('import', list_url())).result).toMatchObject({ practices: 1 });
  expect(server.received.at(-1)?.headers['if-none-match']).toBeUndefined();
});

test(row('DIR-09'), async () => {
  server.respond = respondWith(200, {}, JSON.stringify([{ name: 'Remote Clinic', url: url('remote') }]));
  await command('import', list_url());
  const alerts = async () => {
    const { db } = fixture.ctx;
    const problems = await findProblems(db.system, await readQueueDepth(db), fixture.ctx);
    return problems.filter(({ code }) => code === 'directory_failing').map(({ summary }) => ({ summary }));
  };
  expect(await alerts()).toEqual([]);
  for (const failing of [respondWith(500), respondWith(302, { location: '/moved' }), respondWith(200, {}, '[{"na')]) {
    server.respond = failing;
    await makeDue();
    await refreshDirectory(fixture.ctx);
    expect(await practices()).toMatchObject([{ name: 'Remote Clinic' }]);
    expect(await alerts()).toEqual([{ summary: `The list of practices at ${list_url()} could not be read.` }]);
    const [source] = (await command('list')).result.sources;
    expect(source.failure).toMatch(/^The list (was not sent|redirects|cannot be read)/);
    expect(Date.parse(source.next_read_at)).toBeLessThan(Date.now() + 7 * 3_600_000);
  }
  server.respond = respondWith(200, {}, JSON.stringify([{ name: 'Remote Clinic', url: url('remote') }]));
  await makeDue();
  await refreshDirectory(fixture.ctx);
  expect(await alerts()).toEqual([]);
});

test(row('DIR-10'), async () => {
  const file = await writeList([{ name: 'First Clinic', url: url('first') }]);
  await command('import', file);
  expect((await command('list')).result.sources).toMatchObject([
    { source: file, refreshed: false, practices: 1, failure: null, next_read_at: null },
  ]);
  expect((await command('remove', 'nonsense')).stderr).toMatch(/^There is no such list\./);
  expect((await command('remove', file)).result).toEqual({ source: file, practices: 1 });
  expect((await command('list')).result.sources).toEqual([]);
  expect(await practices()).toEqual([]);
  const records = await fixture.owner`
    SELECT action, outcome, actor FROM audit_records WHERE action LIKE 'directory.%' ORDER BY id DESC LIMIT 4`;
  const by_command = { actor: 'command line' };
  expect(records).toMatchObject([
    { ...by_command, action: 'directory.list', outcome: 'listed' },
    { ...by_command, action: 'directory.remove', outcome: 'removed' },
    { ...by_command, action: 'directory.list', outcome: 'listed' },
    { ...by_command, action: 'directory.import', outcome: 'imported' },
  ]);
});
