import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { certify } from '../../src/emr/certification/certify.ts';
import type { Connector, SignIn } from '../../src/emr/connector.ts';
import { fhir } from '../../src/emr/fhir/fhir.ts';
import { createOutbound } from '../../src/platform/security/outbound.ts';
import { type FhirServer, startFhirServer } from '../harness/fhir/startFhirServer.ts';

let server: FhirServer;
beforeAll(async () => {
  server = await startFhirServer({ data: 'none' });
});
afterEach(() => server.reset());
afterAll(() => server.close());

async function readOutcome(check: string, connector: Connector = fhir): Promise<string | undefined> {
  const results = await certify(
    {
      connector,
      address: server.url,
      credentials: { way: 'client_secret', ...server.clients.confidential },
      outbound: createOutbound({ sandbox: true, allow: [] }),
      writes: false,
    },
    [check],
  );
  return results.find(({ check: { id } }) => id === check)?.outcome;
}

/** The same connector with another reason for refused sign-ins. */
function misreporting(change: (refused: Extract<SignIn, { outcome: 'refused' }>) => SignIn): Connector {
  return {
    ...fhir,
    signIn: async (...args) => {
      const response = await fhir.signIn(...args);
      return response.outcome === 'refused' ? change(response) : response;
    },
  };
}

const checks = ['sign_in.unknown_client', 'sign_in.unregistered_key', 'sign_in.refused_scope'];

describe.each(['plain', 'described'] as const)('with %s errors of the server', (client_errors) => {
  test.each(checks)('%s is passed by the FHIR connector', async (check) => {
    server.faults.client_errors = client_errors;
    expect(await readOutcome(check)).toBe('passed');
  });
});

test.each(checks)('%s detects a connector that reports a wrong secret instead', async (check) => {
  expect(
    await readOutcome(
      check,
      misreporting(() => ({ outcome: 'refused', reason: 'secret' })),
    ),
  ).toBe('failed');
});

test('sign_in.refused_scope detects a connector that does not name the scopes', async () => {
  const silent = misreporting((refused) => (refused.reason === 'scope' ? { ...refused, scopes: '' } : refused));
  expect(await readOutcome('sign_in.refused_scope', silent)).toBe('failed');
});

test('sign_in.assertion_type is passed by the FHIR connector, and detects an assertion without typ', async () => {
  expect(await readOutcome('sign_in.assertion_type')).toBe('passed');
  const untyped: Connector = {
    ...fhir,
    signIn: (endpoint, ...args) => {
      const fetch: typeof endpoint.outbound.fetch = (url, request) =>
        endpoint.outbound.fetch(url, { ...request, body: withoutType(request.body) });
      return fhir.signIn({ ...endpoint, outbound: { ...endpoint.outbound, fetch } }, ...args);
    },
  };
  expect(await readOutcome('sign_in.assertion_type', untyped)).toBe('failed');
});

/** The same body, with an assertion whose header lacks `typ`. */
function withoutType<Body>(body: Body): Body | string {
  const form = new URLSearchParams(String(body));
  const [header = '', ...rest] = form.get('client_assertion')?.split('.') ?? [];
  if (rest.length === 0) return body;
  const { typ: _, ...others } = JSON.parse(Buffer.from(header, 'base64url').toString());
  const changed = Buffer.from(JSON.stringify(others)).toString('base64url');
  form.set('client_assertion', [changed, ...rest].join('.'));
  return form.toString();
}

test('sign_in.unregistered_key is skipped if the server does not support keys', async () => {
  server.faults.auth_methods = ['client_secret_basic'];
  expect(await readOutcome('sign_in.unregistered_key')).toBe('skipped');
});
