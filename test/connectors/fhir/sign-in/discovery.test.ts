import type * as fhir from 'fhir/r4.js';
import { describe, expect, test } from 'vitest';
import { operations, supportedCapabilities } from '../../../../src/emr/fhir/operations.ts';
import {
  discoverAuthorization,
  readCapabilityStatement,
} from '../../../../src/emr/fhir/sign-in/authorizationServer.ts';
import { limitToScopes, scopesFor } from '../../../../src/emr/fhir/sign-in/signInWays.ts';
import { type Requirement, toCapabilities, toServerFacts } from '../../../../src/emr/fhir/transport/capabilities.ts';
import { awaitFailure, createEndpoint, type FakeResponse, startFakeServer } from '../../larkspur/fixture.ts';

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

describe('the token endpoint', () => {
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

  /** A server that serves these documents by path. */
  async function discovered(
    documents: Record<string, FakeResponse>,
    capability_statement: fhir.CapabilityStatement = statement,
  ) {
    const fake = await startFakeServer(({ url = '' }) => documents[url] ?? { status: 404, raw: '' });
    const outcome = await discoverAuthorization(createEndpoint(`${fake.url}/r4`), {
      statement: capability_statement,
    }).catch((error: unknown) => error);
    await fake.close();
    return outcome;
  }
  const documentFor = (name: string) => ({ json: { token_endpoint: `https://${name}.example/token` } });

  test('is read from the SMART configuration first', async () => {
    const authority = await discovered(
      {
        '/r4/.well-known/smart-configuration': documentFor('smart'),
        '/r4/.well-known/openid-configuration': documentFor('oidc'),
      },
      stated({ token: 'https://stated.example/token' }),
    );
    expect(authority).toMatchObject({ token_endpoint: 'https://smart.example/token' });
  });

  test('is read from the capability statement if the SMART configuration is missing or unusable', async () => {
    const uris = { token: 'https://stated.example/token', authorize: 'https://stated.example/authorize' };
    for (const response of [
      { status: 404, raw: '' },
      { json: { issuer: 'x' } },
      { raw: '<html>', headers: { 'content-type': 'text/html' } },
    ]) {
      expect(await discovered({ '/r4/.well-known/smart-configuration': response }, stated(uris))).toEqual({
        token_endpoint: uris.token,
        authorization_endpoint: uris.authorize,
      });
    }
  });

  test.each([
    '/r4/.well-known/openid-configuration',
    '/.well-known/oauth-authorization-server/r4',
    '/.well-known/openid-configuration',
  ])('is read from %s otherwise', async (path) => {
    expect(await discovered({ [path]: documentFor('oidc') })).toMatchObject({
      token_endpoint: 'https://oidc.example/token',
    });
  });

  test('the token endpoint in a document that is nested too deeply is not read', async () => {
    const raw = `{"token_endpoint":"https://x.example/token","more":${'['.repeat(120)}${']'.repeat(120)}}`;
    const authority = await discovered(
      { '/r4/.well-known/smart-configuration': { raw } },
      stated({ token: 'https://stated.example/token' }),
    );
    expect(authority).toMatchObject({ token_endpoint: 'https://stated.example/token' });
  });

  test('the token endpoint that is not published leads to the advice to use a bearer token', async () => {
    expect(await discovered({})).toMatchObject({
      kind: 'refused',
      message: 'The server does not publish its token endpoint. Use a bearer token instead.',
    });
  });

  test('is not guessed while the server is out of order', async () => {
    const response = { status: 500, raw: '' };
    expect(
      await discovered({ '/r4/.well-known/smart-configuration': response }, stated({ token: 'https://x.example' })),
    ).toMatchObject({
      kind: 'unavailable',
    });
  });
});

test('a capability statement that requires a token is read with the token', async () => {
  const fake = await startFakeServer(({ headers }) =>
    headers.authorization === 'Bearer good' ? { json: statement } : { status: 401, raw: '' },
  );
  const endpoint = createEndpoint(`${fake.url}/r4`);
  expect(await readCapabilityStatement(endpoint)).toEqual({ closed: true });
  expect(await readCapabilityStatement(endpoint, 'good')).toMatchObject({ statement: { fhirVersion: '4.0.1' } });
  expect(await awaitFailure(readCapabilityStatement(endpoint, 'bad'))).toMatchObject({ kind: 'refused' });
  await fake.close();
});

describe('the capabilities of a server', () => {
  test('are those of its statement', () => {
    const capabilities = toCapabilities(toServerFacts(statement));
    expect(capabilities).toMatchObject({ fhir_version: '4.0.1', software: 'Some EMR 9' });
    expect([...capabilities.interactions('Patient')]).toEqual(['read', 'search-type', 'create']);
    expect([...capabilities.searchParams('Patient')].sort()).toEqual(['_lastUpdated', 'identifier']);
    expect([capabilities.conditionalCreate('Patient'), capabilities.conditionalCreate('Claim')]).toEqual([true, false]);
    expect([capabilities.versionedUpdate('Patient'), capabilities.versionedUpdate('Claim')]).toEqual([true, false]);
    expect([...capabilities.interactions('Observation')]).toEqual([]);
  });

  test('are empty if the statement is malformed', () => {
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
        supportedCapabilities(toCapabilities(toServerFacts(odd))).filter(
          (name) => operations.find(({ operation }) => operation === name)?.requires?.length,
        ),
      ).toEqual([]);
      expect([...toCapabilities(toServerFacts(odd)).interactions('Patient')]).toEqual([]);
    }
  });

  test('determine the operations: each is supported exactly when all its requirements are met', () => {
    // Either of two parameters will do.
    for (const choice of [0, 1]) {
      const everything = capabilityStatement(
        operations.flatMap(({ requires = [] }) => requires),
        choice,
      );
      const supported = supportedCapabilities(toCapabilities(toServerFacts(everything)));
      expect(supported.filter((name) => !name.includes('.'))).toEqual(operations.map(({ operation }) => operation));
    }
    for (const { operation: name, requires: all = [] } of operations) {
      for (const [at, need] of all.entries()) {
        for (const interaction of need.interactions) {
          const rest = need.interactions.filter((each) => each !== interaction);
          const less = all.map((each, index) => (index === at ? { ...need, interactions: rest } : each));
          // Another requirement of the same operation may need the same.
          if (less.some((each) => each.type === need.type && each.interactions.includes(interaction))) continue;
          expect([
            name,
            interaction,
            supportedCapabilities(toCapabilities(toServerFacts(capabilityStatement(less)))),
          ]).not.toEqual([name, interaction, expect.arrayContaining([name])]);
        }
      }
      const without_exported = all.filter(({ exported }) => !exported);
      if (without_exported.length < all.length) {
        const facts = toServerFacts(capabilityStatement(without_exported));
        expect(supportedCapabilities(toCapabilities(facts))).not.toContain(name);
      }
      expect(supportedCapabilities(toCapabilities(toServerFacts(capabilityStatement(all))))).toContain(name);
    }
  });
});

/** A list that may be exported is also supported where it can be searched. */
function listInteractions({ interactions, exported }: Requirement): Requirement['interactions'] {
  return exported ? [...interactions, 'search-type'] : interactions;
}

/** A server that supports exactly these requirements. */
function capabilityStatement(all: readonly Requirement[], choice = 0): fhir.CapabilityStatement {
  const types = [...new Set(all.map(({ type }) => type))];
  const resource = types.map((type) => {
    const of = all.filter((each) => each.type === type);
    return {
      type,
      interaction: [...new Set(of.flatMap(listInteractions))].map((code) => ({ code })),
      searchParam: [...new Set(of.flatMap((each) => each.params ?? []))].map((names) => {
        const either = names.split('|');
        return { name: either[choice] ?? either[0], type: 'token' };
      }),
    };
  });
  return { ...statement, rest: [{ mode: 'server', resource: resource as fhir.CapabilityStatementRestResource[] }] };
}

describe('scopes', () => {
  test.each([
    [['system/*.cruds', 'system/*.*', 'user/*.*'], 'system/*.cruds'],
    [['system/*.*'], 'system/*.*'],
    [['system/*.read', 'system/*.write'], 'system/*.read system/*.write'],
    [['system/Patient.read', 'system/Claim.read', 'openid'], 'system/Patient.read system/Claim.read'],
    [undefined, 'system/*.read system/*.write'],
  ])('are requested in the notation of the server: %j', (supported, requested) => {
    expect(scopesFor('system', supported)).toBe(requested);
  });

  test('the scopes of a person include offline access, and the identity if the server supports it', () => {
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
  ])('limit the capabilities: %s', (granted, left) => {
    expect(limitToScopes(toServerFacts(statement), granted).types.Patient?.interactions).toEqual(left);
  });
});
