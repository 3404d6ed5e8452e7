import type * as fhir from 'fhir/r4.js';
import { describe, expect, test } from 'vitest';
import type { OperationName } from '../../../src/connectors/connector.ts';
import { operations, type Requirement, supportedOperations } from '../../../src/connectors/fhir/operations.ts';
import { discoverAuthorization, readCapabilityStatement } from '../../../src/connectors/fhir/sign-in/discover.ts';
import { limitToScopes, scopesFor } from '../../../src/connectors/fhir/sign-in/scopes.ts';
import { toCapabilities, toServerFacts } from '../../../src/connectors/fhir/transport/capabilities.ts';
import { type FakeResponse, failureOf, openEndpoint, startFakeServer } from '../larkspur/fixture.ts';

const statement: fhir.CapabilityStatement = {
  resourceType: 'CapabilityStatement',
  status: 'active',
  date: '2026-01-01',
  kind: 'instance',
  fhirVersion: '4.0.1',
  format: ['json'],
  software: { name: 'Some EMR', version: '9' },
  rest: [
    {
      mode: 'server',
      searchParam: [{ name: '_lastUpdated', type: 'date' }],
      resource: [
        {
          type: 'Patient',
          interaction: [{ code: 'read' }, { code: 'search-type' }, { code: 'create' }, { code: 'delete' }],
          searchParam: [{ name: 'identifier', type: 'token' }],
          conditionalCreate: true,
        },
        { type: 'Claim', interaction: [{ code: 'update' }], versioning: 'no-version' },
      ],
    },
  ],
};

describe('where tokens are given', () => {
  const stated = (uris: Record<string, string>): fhir.CapabilityStatement => ({
    ...statement,
    rest: [
      {
        mode: 'server',
        security: {
          extension: [
            {
              url: 'http://fhir-registry.smarthealthit.org/StructureDefinition/oauth-uris',
              extension: Object.entries(uris).map(([url, valueUri]) => ({ url, valueUri })),
            },
          ],
        },
      },
    ],
  });

  /** A server of the documents it is given, by path. */
  async function found(documents: Record<string, FakeResponse>, said: fhir.CapabilityStatement = statement) {
    const fake = await startFakeServer(({ url = '' }) => documents[url] ?? { status: 404, raw: '' });
    const outcome = await discoverAuthorization(openEndpoint(`${fake.url}/r4`), { statement: said }).catch(
      (error: unknown) => error,
    );
    await fake.close();
    return outcome;
  }
  const told = (name: string) => ({ json: { token_endpoint: `https://${name}.example/token` } });

  test('is said by SMART’s document first', async () => {
    const authority = await found(
      { '/r4/.well-known/smart-configuration': told('smart'), '/r4/.well-known/openid-configuration': told('oidc') },
      stated({ token: 'https://stated.example/token' }),
    );
    expect(authority).toMatchObject({ token_endpoint: 'https://smart.example/token' });
  });

  test('else by the statement, whether the document is absent or of no use', async () => {
    const uris = { token: 'https://stated.example/token', authorize: 'https://stated.example/authorize' };
    for (const answer of [
      { status: 404, raw: '' },
      { json: { issuer: 'x' } },
      { raw: '<html>', headers: { 'content-type': 'text/html' } },
    ]) {
      expect(await found({ '/r4/.well-known/smart-configuration': answer }, stated(uris))).toEqual({
        token_endpoint: uris.token,
        authorization_endpoint: uris.authorize,
      });
    }
  });

  test.each([
    '/r4/.well-known/openid-configuration',
    '/.well-known/oauth-authorization-server/r4',
    '/.well-known/openid-configuration',
  ])('else by %s', async (path) => {
    expect(await found({ [path]: told('oidc') })).toMatchObject({ token_endpoint: 'https://oidc.example/token' });
  });

  test('else it is said that a bearer token can be used instead', async () => {
    expect(await found({})).toMatchObject({
      kind: 'refused',
      message: 'The server does not publish its token endpoint. Use a bearer token instead.',
    });
  });

  test('is not guessed while the server is out of order', async () => {
    const answer = { status: 500, raw: '' };
    expect(
      await found({ '/r4/.well-known/smart-configuration': answer }, stated({ token: 'https://x.example' })),
    ).toMatchObject({
      kind: 'unavailable',
    });
  });
});

test('a statement that is shown only to who is signed in is read with the token', async () => {
  const fake = await startFakeServer(({ headers }) =>
    headers.authorization === 'Bearer good' ? { json: statement } : { status: 401, raw: '' },
  );
  const endpoint = openEndpoint(`${fake.url}/r4`);
  expect(await readCapabilityStatement(endpoint)).toEqual({ closed: true });
  expect(await readCapabilityStatement(endpoint, 'good')).toMatchObject({ statement: { fhirVersion: '4.0.1' } });
  expect(await failureOf(readCapabilityStatement(endpoint, 'bad'))).toMatchObject({ kind: 'refused' });
  await fake.close();
});

describe('what a server can do', () => {
  test('is what its statement says, and nothing else', () => {
    const capabilities = toCapabilities(toServerFacts(statement));
    expect(capabilities).toMatchObject({ fhir_version: '4.0.1', software: 'Some EMR 9' });
    expect([...capabilities.interactions('Patient')]).toEqual(['read', 'search-type', 'create']);
    expect([...capabilities.searchParams('Patient')].sort()).toEqual(['_lastUpdated', 'identifier']);
    expect([capabilities.conditionalCreate('Patient'), capabilities.conditionalCreate('Claim')]).toEqual([true, false]);
    expect([capabilities.versionedUpdate('Patient'), capabilities.versionedUpdate('Claim')]).toEqual([true, false]);
    expect([...capabilities.interactions('Observation')]).toEqual([]);
  });

  test('is nothing where the statement is not as it should be', () => {
    for (const rest of [
      undefined,
      null,
      {},
      [null],
      [{ mode: 'client', resource: statement.rest?.[0]?.resource }],
      [{ mode: 'server', resource: [{}, null, { type: 7 }, { type: '__proto__' }] }],
    ]) {
      const odd = { ...statement, rest, software: 'x', fhirVersion: 4 } as unknown as fhir.CapabilityStatement;
      expect(
        supportedOperations(toCapabilities(toServerFacts(odd))).filter((name) => operations[name]?.requires.length),
      ).toEqual([]);
      expect([...toCapabilities(toServerFacts(odd)).interactions('Patient')]).toEqual([]);
    }
  });

  test('decides the operations: each is offered exactly where all it needs is there', () => {
    // Of two parameters either will do.
    for (const choice of [0, 1]) {
      const everything = capabilityStatement(
        Object.values(operations).flatMap(({ requires }) => requires),
        choice,
      );
      expect(supportedOperations(toCapabilities(toServerFacts(everything))).sort()).toEqual(
        Object.keys(operations).sort(),
      );
    }
    for (const [name, { requires: all }] of Object.entries(operations)) {
      for (const [at, need] of all.entries()) {
        for (const interaction of need.interactions) {
          const rest = need.interactions.filter((each) => each !== interaction);
          const less = all.map((each, index) => (index === at ? { ...need, interactions: rest } : each));
          // Another need of the same operation may ask for the same.
          if (less.some((each) => each.type === need.type && each.interactions.includes(interaction))) continue;
          expect([
            name,
            interaction,
            supportedOperations(toCapabilities(toServerFacts(capabilityStatement(less)))),
          ]).not.toEqual([name, interaction, expect.arrayContaining([name])]);
        }
      }
      expect(supportedOperations(toCapabilities(toServerFacts(capabilityStatement(all))))).toContain(
        name as OperationName,
      );
    }
  });
});

/** A server that can do these things and no more. */
function capabilityStatement(all: readonly Requirement[], choice = 0): fhir.CapabilityStatement {
  const types = [...new Set(all.map(({ type }) => type))];
  const resource = types.map((type) => {
    const of = all.filter((each) => each.type === type);
    return {
      type,
      interaction: [...new Set(of.flatMap((each) => each.interactions))].map((code) => ({ code })),
      searchParam: [...new Set(of.flatMap((each) => each.params ?? []))].map((names) => {
        const either = names.split('|');
        return { name: either[choice] ?? either[0], type: 'token' };
      }),
    };
  });
  return { ...statement, rest: [{ mode: 'server', resource: resource as fhir.CapabilityStatementRestResource[] }] };
}

describe('rights', () => {
  test.each([
    [['system/*.cruds', 'system/*.*', 'user/*.*'], 'system/*.cruds'],
    [['system/*.*'], 'system/*.*'],
    [['system/*.read', 'system/*.write'], 'system/*.read system/*.write'],
    [['system/Patient.read', 'system/Claim.read', 'openid'], 'system/Patient.read system/Claim.read'],
    [undefined, 'system/*.read system/*.write'],
  ])('are asked for in the spelling that the server knows: %j', (supported, asked) => {
    expect(scopesFor('system', supported)).toBe(asked);
  });

  test('of a person include to stay signed in, and who it is where the server can say', () => {
    expect(scopesFor('user', ['openid', 'fhirUser', 'offline_access', 'user/*.*'])).toBe(
      'openid fhirUser offline_access user/*.*',
    );
    expect(scopesFor('user', undefined)).toBe('offline_access user/*.read user/*.write');
  });

  test.each([
    ['system/*.read', ['read', 'search-type']],
    ['system/Patient.write', ['create']],
    ['user/Patient.rs', ['read', 'search-type']],
    ['patient/*.c?category=x', ['create']],
    ['system/Claim.*', []],
    ['openid profile', ['read', 'search-type', 'create']],
    [undefined, ['read', 'search-type', 'create']],
  ])('that were granted narrow what is offered: %s', (granted, left) => {
    expect(limitToScopes(toServerFacts(statement), granted).types.Patient?.interactions).toEqual(left);
  });
});
