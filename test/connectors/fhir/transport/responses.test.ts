import type * as fhir from 'fhir/r4.js';
import { describe, expect, test } from 'vitest';
import { createClient, type FhirClient } from '../../../../src/emr/fhir/transport/client.ts';
import {
  awaitFailure,
  createEndpoint,
  expectNoSecret,
  type FakeResponse,
  startFakeServer,
} from '../../larkspur/fixture.ts';

const access_token = 'a-token-that-nobody-may-see';
const person: fhir.Patient = { resourceType: 'Patient', name: [{ family: 'Secretname' }] };

/** A read and a create on a server with arbitrary responses, and what the server received. */
async function exchange(response: FakeResponse, signal?: AbortSignal) {
  const sent: string[] = [];
  const fake = await startFakeServer((request) => {
    sent.push(`${request.method} ${request.url}`);
    return response;
  });
  const client = createTestClient(fake.url, signal);
  const [read, create] = [
    await client.read<fhir.Patient>('Patient', '1').catch((error: unknown) => error),
    await client.create(person, 'marker').catch((error: unknown) => error),
  ];
  await fake.close();
  return { read, create, sent };
}

function createTestClient(url: string, signal?: AbortSignal, conditional_create = false): FhirClient {
  const facts = { interactions: ['read', 'search-type', 'create'], params: [], versioned: true };
  const types = { Patient: { ...facts, conditional_create } };
  const grant = { access_token, server: JSON.stringify({ fhir_version: '4.0.1', software: '', types }) };
  const access = { credentials: { way: 'bearer_token' }, grant, saveGrant: async () => {} };
  return createClient(createEndpoint(`${url}/r4`, signal), access);
}

const outcome = (diagnostics: string, code = 'invalid') => ({
  resourceType: 'OperationOutcome',
  issue: [{ severity: 'error', code, diagnostics }],
});
const html = { 'content-type': 'text/html' };

describe('too many requests', () => {
  test.each([
    ['in seconds', '7', 7000],
    ['as a date in the past', 'Wed, 21 Oct 2015 07:28:00 GMT', 0],
    ['not at all', undefined, undefined],
    ['in words', 'soon', undefined],
  ])('set the time of the next attempt %s', async (_name, after, retry_after_ms) => {
    const headers = after === undefined ? {} : { 'retry-after': after };
    const { read, create } = await exchange({ status: 429, headers, json: {} });
    // A definite rejection, so a write may be retried without a lookup.
    for (const failure of [read, create]) {
      expect(failure).toMatchObject({
        kind: 'unavailable',
        message: 'The EMR is receiving too many requests.',
        retry_after_ms,
      });
    }
  });

  test('is also the meaning of a 503 with Retry-After', async () => {
    const { create } = await exchange({ status: 503, headers: { 'retry-after': '3' }, raw: '' });
    expect(create).toMatchObject({ kind: 'unavailable', retry_after_ms: 3000 });
  });
});

describe('a response that is not the server’s', () => {
  const responses: [string, FakeResponse][] = [
    ['an error page', { status: 500, headers: html, raw: '<h1>Secretname</h1>' }],
    ['a proxy’s page', { status: 502, headers: html, raw: '<h1>Bad gateway</h1>' }],
    ['a "not found" page', { status: 404, headers: html, raw: '<h1>Not found</h1>' }],
    ['a firewall page', { status: 403, headers: html, raw: '<html>Blocked by the firewall</html>' }],
    ['a page with a wrong content type', { status: 400, raw: '  <!doctype html>' }],
    ['an empty 503', { status: 503, raw: '' }],
    ['a redirect', { status: 302, headers: { location: 'http://127.0.0.1:9/login' }, raw: '' }],
    ['a redirect after a post', { status: 303, headers: { location: 'http://127.0.0.1:9/done' }, raw: '' }],
    ['a gateway timeout', { status: 504, raw: '' }],
    ['a request timeout', { status: 408, raw: '' }],
  ];
  test.each(responses)('%s makes a read unavailable and a write unknown', async (_name, response) => {
    const { read, create, sent } = await exchange(response);
    expect(read).toMatchObject({ kind: 'unavailable' });
    expect(create).toMatchObject({ kind: 'unknown_outcome' });
    for (const failure of [read, create]) {
      expectNoSecret(failure, { password: access_token }, { name: 'Secretname' });
    }
    // No redirect was followed.
    expect(sent).toEqual(['GET /r4/Patient/1', 'POST /r4/Patient']);
  });
});

test('a redirect to a record is not accepted as the created record', async () => {
  const headers = { location: '/r4/Patient/somebody-else' };
  for (const status of [301, 302, 303, 307, 308]) {
    const { create, sent } = await exchange({
      status,
      headers,
      json: { resourceType: 'Patient', id: 'somebody-else' },
    });
    const message = `The EMR redirected to another address (${status}), which is not followed.`;
    expect(create).toMatchObject({ kind: 'unknown_outcome', message });
    expect(sent).toEqual(['GET /r4/Patient/1', 'POST /r4/Patient']);
  }
});

test('a record found instead of created counts only if it has our marker', async () => {
  const identifier = [{ system: 'urn:chartwire:marker', value: 'marker' }];
  for (const [resource_found, has_marker] of [
    [{ resourceType: 'Patient', id: 'ours', identifier }, true],
    [{ resourceType: 'Patient', id: 'somebody-else' }, false],
  ] as const) {
    const fake = await startFakeServer(() => ({ status: 200, json: resource_found }));
    const outcome = await createTestClient(fake.url, undefined, true)
      .create(person, 'marker')
      .catch((error: unknown) => error);
    expect(outcome).toMatchObject(has_marker ? { id: 'ours' } : { kind: 'unknown_outcome' });
    await fake.close();
  }
});

describe('a response of the server', () => {
  test.each([404, 410])('%d means that the record does not exist', async (status) => {
    for (const response of [{ json: outcome('gone', 'not-found') }, { raw: '' }, { json: {} }]) {
      expect((await exchange({ status, ...response })).read).toBeUndefined();
    }
  });

  test('a response with a body that is not a record is unreadable', async () => {
    for (const response of [
      { json: { ok: true } },
      { raw: '{"resourceType":' },
      { raw: Buffer.from([0x22, 0xff, 0x22]) },
    ]) {
      expect((await exchange(response)).read).toMatchObject({ kind: 'unavailable' });
    }
    expect((await exchange({ json: { resourceType: 'Practitioner', id: '1' } })).read).toMatchObject({
      kind: 'unavailable',
    });
  });

  const too_large = 'The EMR sent a response that is too large.';
  const patient = (field: string) => `{"resourceType":"Patient","id":"1","extension":${field}}`;
  test.each([
    ['8 MB', Buffer.alloc(8_000_001, ' ')],
    ['100 levels', patient('['.repeat(100) + ']'.repeat(100))],
    ['4 MB of brackets', patient('['.repeat(4_000_000))],
    ['100,000 values', patient(`[${'{},'.repeat(100_000)}{}]`)],
  ])('a response that exceeds %s is rejected', async (_limit, raw) => {
    const { read, create } = await exchange({ raw });
    expect(read).toMatchObject({ kind: 'unavailable', message: too_large });
    expect(create).toMatchObject({ kind: 'unknown_outcome', message: too_large });
  });

  test('a rejection that is too large or too complex is still a rejection', async () => {
    for (const raw of [Buffer.alloc(300_000, ' '), '['.repeat(1000)]) {
      const { read, create } = await exchange({ status: 422, raw });
      expect(read).toMatchObject({ kind: 'refused', message: 'The EMR did not accept the request (422).' });
      expect(create).toMatchObject({ kind: 'refused', message: 'The EMR did not accept the request (422).' });
    }
  });

  test('a response with a page of a list may be larger than one with a record', async () => {
    const resource = { resourceType: 'Patient', id: '1', text: { div: 'x'.repeat(10_000_000) } };
    const fake = await startFakeServer(() => ({ json: { resourceType: 'Bundle', total: 1, entry: [{ resource }] } }));
    const matches = await createTestClient(fake.url).searchAll<fhir.Patient>('Patient', {});
    await fake.close();
    expect(matches).toStrictEqual([resource]);
  });

  test('a response that rejects a request is quoted if it is readable text', async () => {
    const messageFor = async (diagnostics: string) =>
      (await exchange({ status: 422, json: outcome(diagnostics) })).create;
    expect(await messageFor('Patient.birthDate must not be in the future')).toMatchObject({
      kind: 'refused',
      message: 'The EMR rejected the request: Patient.birthDate must not be in the future',
    });
    for (const trace of [
      'java.lang.NullPointerException: null',
      'Error at Foo.bar(Foo.java:12)',
      'see https://emr.example.org/errors/12?token=x',
      'SELECT * FROM patients',
      '<b>bad</b>',
      '',
    ]) {
      expect(await messageFor(trace)).toMatchObject({
        kind: 'refused',
        message: 'The EMR did not accept the request (422).',
      });
    }
    expect(await messageFor('x'.repeat(5000))).toMatchObject({ message: expect.stringMatching(/^.{300,330}$/) });
  });

  test('a response that reports a concurrent change is retried', async () => {
    for (const code of ['lock-error', 'transient', 'throttled']) {
      const { create } = await exchange({ status: 409, json: outcome('busy', code) });
      expect(create).toMatchObject({ kind: 'unavailable' });
    }
    expect((await exchange({ status: 409, json: outcome('duplicate', 'duplicate') })).create).toMatchObject({
      kind: 'refused',
    });
  });

  const visit: fhir.Appointment = { resourceType: 'Appointment', status: 'booked', participant: [] };
  const cover = { resourceType: 'Coverage', status: 'active' } as fhir.Coverage;

  test.each<[issue: string, resource: fhir.FhirResource, code: string]>([
    ['invalid', person, 'emr_validation'],
    ['structure', person, 'emr_validation'],
    ['required', person, 'emr_validation'],
    ['value', person, 'emr_validation'],
    ['invariant', person, 'emr_validation'],
    ['too-long', person, 'emr_validation'],
    ['code-invalid', person, 'unknown_value'],
    ['not-found', person, 'patient_not_found'],
    ['not-found', visit, 'record_not_found'],
    ['deleted', cover, 'record_not_found'],
    ['multiple-matches', cover, 'record_ambiguous'],
    ['duplicate', person, 'duplicate_patient'],
    ['duplicate', cover, 'duplicate_record'],
    ['conflict', visit, 'slot_taken'],
    // A new record has no version that somebody else could have changed.
    ['conflict', cover, 'emr_refused'],
    ['forbidden', person, 'not_permitted'],
    ['security', person, 'not_permitted'],
    ['suppressed', person, 'not_permitted'],
    ['not-supported', person, 'not_supported'],
    ['too-costly', person, 'too_many_matches'],
    ['business-rule', visit, 'emr_refused'],
    ['processing', person, 'emr_refused'],
    ['constructor', person, 'emr_refused'],
  ])(
    'a response with an issue of type %s is a failure with a code of the catalogue: %j',
    async (issue, resource, code) => {
      const fake = await startFakeServer(() => ({ status: 422, json: outcome('In words.', issue) }));
      const failure = await awaitFailure(createTestClient(fake.url).create(resource, 'marker'));
      await fake.close();
      expect(failure).toMatchObject({ kind: 'refused', code, message: expect.stringContaining('In words.') });
      if (code === 'duplicate_patient') expect(failure.message).toContain('duplicate');
    },
  );

  test('takes its failure code from the first error with a meaning of its own', async () => {
    const issue = (severity: string, code: string) => ({ severity, code, diagnostics: 'In words.' });
    const json = {
      resourceType: 'OperationOutcome',
      issue: [issue('warning', 'duplicate'), issue('error', 'processing'), null, issue('error', 'code-invalid')],
    };
    expect((await exchange({ status: 422, json })).create).toMatchObject({ code: 'unknown_value' });
    for (const other of [{ resourceType: 'OperationOutcome', issue: 'none' }, { resourceType: 'Basic' }]) {
      expect((await exchange({ status: 422, json: other })).create).toMatchObject({ code: 'emr_refused' });
    }
  });

  test.each([
    [403, 'not_permitted'],
    [404, 'not_supported'],
    [405, 'not_supported'],
    [410, 'patient_not_found'],
    [501, 'not_supported'],
  ])('a response with the status %i is a failure with the code %s', async (status, code) => {
    expect((await exchange({ status, json: outcome('In words.') })).create).toMatchObject({ code });
  });

  test('a response that the operation is not supported is a refusal', async () => {
    for (const status of [404, 405, 501]) {
      expect((await exchange({ status, raw: '' })).create).toMatchObject({
        kind: 'refused',
        message: `The server does not accept new Patient records (${status}).`,
        not_offered: true,
      });
    }
  });
});

describe('a server that does not respond', () => {
  test('differs from an unreachable one, to which nothing was sent', async () => {
    const closed_server = await startFakeServer(() => ({ json: {} }));
    await closed_server.close();
    const failure = await awaitFailure(createTestClient(closed_server.url).create(person, 'marker'));
    expect(failure).toMatchObject({ kind: 'unavailable', message: 'The EMR cannot be reached.' });
  });

  test('is abandoned when we are stopped, and a write in progress is of unknown outcome', async () => {
    const stop = new AbortController();
    // Stopped once the request has arrived at the server.
    const fake = await startFakeServer(() => {
      stop.abort();
      return { json: {} };
    });
    const client = createTestClient(fake.url, stop.signal);
    expect(await awaitFailure(client.create(person, 'marker'))).toMatchObject({ kind: 'unknown_outcome' });
    expect(await awaitFailure(client.read('Patient', '1'))).toMatchObject({ kind: 'unavailable' });
    expect(await awaitFailure(client.create(person, 'marker'))).toMatchObject({ kind: 'unavailable' });
    await fake.close();
  });
});

test('an address that is not allowed is refused before anything is sent', async () => {
  const failure = await awaitFailure(createTestClient('http://169.254.169.254').create(person, 'marker'));
  expect(failure).toMatchObject({ kind: 'refused', message: 'The address of the EMR is not allowed.' });
});
