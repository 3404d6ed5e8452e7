import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { freePort } from '../../scripts/freePort.ts';
import { loadConfig } from '../../src/catalog/settings/config.ts';
import { certifyCommand } from '../../src/surfaces/cli/certify.ts';
import { startSignInPage } from '../../src/surfaces/cli/signInPage.ts';
import { allowedOn } from '../connectors/fhir/fixture.ts';
import { required } from '../connectors/larkspur/fixture.ts';
import { startFhirServer } from '../harness/fhir/startFhirServer.ts';
import { startOpenEmr } from '../harness/openemr/startOpenEmr.ts';

let folder: string;
let redirect_uri: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'certify-page-'));
  redirect_uri = `http://127.0.0.1:${await freePort()}/callback`;
});
afterAll(() => rm(folder, { recursive: true }));
afterEach(() => {
  process.exitCode = undefined;
});

type Certified = { printed: string; code: typeof process.exitCode; shown: number };

/** Runs the command. `signInOn` is what the person does whenever the command shows the URL of a page. */
async function certify(
  connector: string,
  values: Parameters<typeof certifyCommand>[2] & { credentials: object },
  signInOn: (url: string) => Promise<void>,
): Promise<Certified> {
  const { credentials, ...options } = values;
  const file = join(folder, `${connector}.json`);
  await writeFile(file, JSON.stringify({ way: 'authorization_code', ...credentials }));
  const people: Promise<void>[] = [];
  const out = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    const url = /^http\S+\/authorize\?\S+$/m.exec(String(text))?.[0];
    if (url !== undefined) people.push(signInOn(url));
    return true;
  });
  try {
    const more = { 'credentials-file': file, 'redirect-uri': redirect_uri, ...options };
    await certifyCommand(loadConfig({ SANDBOX: 'on' }), connector, more);
    await Promise.all(people);
    const printed = out.mock.calls.map(([text]) => String(text)).join('');
    return { printed, code: process.exitCode, shown: people.length };
  } finally {
    out.mockRestore();
  }
}

test('a person signs in once on the page of a FHIR server, whose redirect the command receives', async () => {
  const server = await startFhirServer({ data: 'small', redirect_uris: [redirect_uri] });
  const credentials = server.clients.public;
  const signInOn = async (url: string) => {
    const back = await allowedOn(server, url);
    const forged = new URL(back);
    forged.searchParams.set('state', 'another');
    expect((await fetch(forged)).status).toBe(404);
    expect((await fetch(back, { method: 'POST' })).status).toBe(404);
    const received = await fetch(back);
    expect(received.status).toBe(200);
    expect(received.headers.get('cache-control')).toBe('no-store');
    expect(await received.text()).toContain('You can close this window');
    expect((await fetch(back).catch(() => ({ status: 0 }))).status).not.toBe(200);
  };
  const run = await certify('fhir', { address: server.url, credentials, only: 'sign_in' }, signInOn);
  expect(run).toMatchObject({ shown: 1, code: undefined });
  expect(run.printed).toMatch(/FHIR R4: [4-9] passed, 0 failed/);
  expect(run.printed).toContain('a person would have to sign in once more');
  for (const secret of server.issued) expect(run.printed).not.toContain(secret);

  const declined = await certify('fhir', { address: server.url, credentials, only: 'sign_in' }, async (url) => {
    await fetch(await allowedOn(server, url, 'deny'));
  });
  expect(declined.code).toBe(1);
  expect(declined.printed).toContain('sign_in.success: the page refused: person');
  await server.close();
});

test('OpenEMR is certified with a sign-in on its page and the visit types that are given', async () => {
  const server = await startOpenEmr({ redirect_uris: [redirect_uri] });
  const { client_id, client_secret } = server.client;
  const options = {
    address: server.url,
    credentials: { client_id, app_secret: client_secret },
    'patient-mrn': 'OE-1001',
    'write-synthetic-records': true,
    'visit-type': ['5, Office visit, 15', '9,Established patient'],
    only: 'createAppointment.written',
  };
  const signInOn = async (url: string) => {
    await fetch(required(await server.signInOnPage(url)));
  };
  const { printed, code, shown } = await certify('openemr', options, signInOn);
  expect({ code, shown }, printed).toEqual({ code: undefined, shown: 1 });
  expect(printed).toMatch(/OpenEMR: 2 passed, 0 failed/);
  const booked = server.ledger.filter(({ method, path }) => method === 'POST' && path.endsWith('/appointment'));
  expect(booked.length).toBeGreaterThan(0);
  await server.close();
});

test('the redirect to an address of the service is pasted; other texts are refused without giving up', async () => {
  const shown: string[] = [];
  const input = new PassThrough();
  const page = await startSignInPage('https://chartwire.example/link/v1/oauth/callback/1', {
    input,
    show: (text) => void shown.push(text),
  });
  const opened = page.open('https://emr.example/authorize?state=s1&client_id=c');
  expect(shown.join('')).toContain('https://emr.example/authorize?state=s1&client_id=c');
  input.write('hello\n\nhttps://chartwire.example/link/v1/oauth/callback/1?state=s2&code=x\n');
  await vi.waitUntil(() => shown.filter((text) => text.startsWith('This is not the URL')).length === 2);
  input.write(' https://chartwire.example/link/v1/oauth/callback/1?state=s1&code=y \n');
  expect((await opened)?.searchParams.get('code')).toBe('y');
  const abandoned = page.open('https://emr.example/authorize?state=s3');
  input.end();
  expect(await abandoned).toBeUndefined();
  await page.close();
});

test('unusable redirect URIs and visit types are explained in one sentence', async () => {
  const options = { input: new PassThrough(), show: () => {} };
  for (const uri of ['chartwire.example', 'http://chartwire.example/callback', 'https://chartwire.example/#x']) {
    await expect(startSignInPage(uri, options)).rejects.toThrow(/--redirect-uri must be a URL that the EMR knows/);
  }
  const first = await startSignInPage(redirect_uri, options);
  await expect(startSignInPage(redirect_uri, options)).rejects.toThrow(/cannot listen on .* \(EADDRINUSE\)/);
  await first.close();
  const nobody = async () => {};
  const openemr = { address: 'https://emr.example', credentials: { client_id: 'c' } };
  for (const [connector, line, sentence] of [
    ['openemr', 'Office visit', /--visit-type must be a code, a description and its minutes/],
    ['openemr', 'A5, Office visit', /--visit-type: the code must be the number of a calendar category/],
    ['fhir', '5, Office visit', /--visit-type: FHIR R4 lists its own/],
  ] as const) {
    await expect(certify(connector, { ...openemr, 'visit-type': [line] }, nobody)).rejects.toThrow(sentence);
  }
});
