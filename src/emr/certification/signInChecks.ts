import { randomUUID } from 'node:crypto';
import { decodeProtectedHeader, generateKeyPair } from 'jose';
import type { OutboundResponse } from '../../platform/security/outbound.ts';
import { isZone } from '../../platform/time/zones.ts';
import type { Credentials, EmrEndpoint, SignIn } from '../connector.ts';
import { CheckSkipped, skip } from '../operations/operation.ts';
import { type Check, type Environment, expectFailure, fail, performSignIn } from './environment.ts';
import { respondWith, unreachable, unusable_responses } from './interceptors.ts';

/** Successful and refused sign-ins. */
export const signInChecks: readonly Check[] = [
  {
    id: 'sign_in.wrong_secret',
    expectation: 'a wrong secret is refused with the reason credentials, secret or access',
    run: async (env) => {
      const response = await attemptSignIn(env, withWrongSecret(env));
      if (response.outcome === 'signed_in') fail('a wrong secret was accepted');
      // An EMR that asks for the code before it checks the password refuses the code instead.
      if (response.outcome === 'code_required') return;
      if (!['credentials', 'secret', 'access'].includes(response.reason))
        fail(`refused with the reason ${response.reason}`);
    },
  },
  {
    id: 'sign_in.unknown_client',
    expectation:
      'an unknown OAuth client is refused with the reason client, or with access or key if the EMR does not say',
    run: async (env) => {
      const { client_id, way } = env.credentials;
      if (client_id === undefined) return skip('the EMR has no OAuth clients');
      const response = await attemptSignIn(env, { ...env.credentials, client_id: `unknown-${env.uniqueTag()}` });
      requireReason(response, ['client', usesKey(env, way) ? 'key' : 'access']);
    },
  },
  {
    id: 'sign_in.unregistered_key',
    expectation: 'a key that the EMR does not know is refused with the reason key',
    run: async (env) => {
      const way = env.connector.sign_in_ways?.find(({ must_register }) => must_register === 'key_set');
      const { client_id } = env.credentials;
      if (!way || client_id === undefined) return skip('the EMR has no sign-in by key');
      const endpoint = { ...env.endpoint().endpoint, keys: unregisteredKeys() };
      const response = await env.track(env.connector.signIn(endpoint, { way: way.name, client_id }, undefined));
      if (response.outcome === 'refused' && response.reason === 'method') skip('the EMR does not support keys');
      requireReason(response, ['key']);
    },
  },
  {
    id: 'sign_in.assertion_type',
    expectation: 'a client assertion has the header typ JWT, which SMART requires',
    run: async (env) => {
      const way = env.connector.sign_in_ways?.find(({ must_register }) => must_register === 'key_set');
      const { client_id } = env.credentials;
      if (!way || client_id === undefined) return skip('the EMR has no sign-in by key');
      let assertion: string | null = null;
      const { endpoint } = env.endpoint({
        intercept: async (_call, pass, { body }) => {
          const sent = typeof body === 'string' ? new URLSearchParams(body).get('client_assertion') : null;
          if (sent === null) return pass();
          assertion = sent;
          return oauthError('invalid_client');
        },
      });
      const keys = unregisteredKeys();
      await env.track(env.connector.signIn({ ...endpoint, keys }, { way: way.name, client_id }, undefined));
      if (assertion === null) return skip('the EMR does not support keys');
      const { typ } = decodeProtectedHeader(assertion);
      if (typ !== 'JWT') fail(`the header has ${typ === undefined ? 'no typ' : `the typ ${typ}`}`);
    },
  },
  {
    id: 'sign_in.refused_scope',
    expectation: 'refused scopes are refused with the reason scope, which names them',
    run: async (env) => {
      let scopes_requested = false;
      const { endpoint } = env.endpoint({
        intercept: async (_call, pass, { body }) => {
          if (typeof body !== 'string' || !new URLSearchParams(body).has('grant_type')) return pass();
          scopes_requested = true;
          return oauthError('invalid_scope');
        },
      });
      const response = await env.track(signIn(env, endpoint)).catch((error) => {
        if (scopes_requested || error instanceof CheckSkipped) throw error;
        return undefined;
      });
      if (!scopes_requested || !response) return skip('the EMR has no OAuth scopes');
      requireReason(response, ['scope']);
      if (response.outcome === 'refused' && response.reason === 'scope' && response.scopes.trim() === '')
        fail('the refused scopes are not named');
    },
  },
  {
    id: 'sign_in.unreachable',
    expectation: 'an unreachable EMR is unavailable, not a wrong password',
    run: async (env) => {
      const { endpoint } = env.endpoint({ intercept: unreachable });
      await expectFailure(env, 'unreachable', () => signIn(env, endpoint), ['unavailable']);
    },
  },
  {
    id: 'sign_in.unusable_response',
    expectation: 'an unusable response is unavailable or refused, not a wrong password',
    run: async (env) => {
      for (const [situation, make] of Object.entries(unusable_responses)) {
        const { endpoint } = env.endpoint({ intercept: respondWith(make) });
        await expectFailure(env, situation, () => signIn(env, endpoint), ['unavailable', 'refused']);
      }
    },
  },
  {
    id: 'sign_in.success',
    expectation: 'correct credentials return a grant, the user and, if known, the time zone',
    run: async (env) => {
      const { user, timezone, grant } = await env.signIn();
      if (!user.ehr_id.trim() || !user.name.trim()) fail('the user has no id or no name');
      if (timezone !== undefined && !isZone(timezone)) fail('the time zone is not an IANA name');
      if (Object.values(grant).some((value) => typeof value !== 'string'))
        fail('the grant contains a value that is not a string');
      const repeats = JSON.stringify(grant).includes(JSON.stringify(env.credentials).slice(1, -1));
      if (repeats) fail('the grant contains the credentials');
    },
  },
  {
    id: 'sign_in.code',
    expectation:
      'if the EMR requires a one-time code, a missing code returns code_required and a wrong one is refused with the reason code',
    run: async (env) => {
      await env.session();
      const without = await attemptSignIn(env, env.credentials);
      if (without.outcome === 'signed_in') skip('the EMR requires no one-time code');
      if (without.outcome !== 'code_required') fail(`without a code, the sign-in returned ${without.outcome}`);
      const response = await attemptSignIn(env, env.credentials, '000000');
      if (response.outcome !== 'refused' || response.reason !== 'code')
        fail('a wrong code was not refused with the reason code');
    },
  },
];

/** A sign-in besides the one of `env.signIn`, which is the only one with a valid code. */
export function attemptSignIn(env: Environment, credentials: Credentials, code?: string): Promise<SignIn> {
  return env.track(performSignIn(onceMore(env), env.endpoint().endpoint, credentials, code));
}

/** Nobody is asked to sign in again for a check. */
function onceMore(env: Environment): Environment {
  if (!env.signs_in_once) return env;
  return { ...env, signInOnPage: async () => skip('a person would have to sign in once more') };
}

function requireReason(response: SignIn, expected: readonly string[]): void {
  if (response.outcome !== 'refused') fail(`the sign-in returned ${response.outcome}`);
  else if (!expected.includes(response.reason))
    fail(`refused with the reason ${response.reason}, expected ${expected.join(' or ')}`);
}

function usesKey({ connector }: Environment, way: string | undefined): boolean {
  return (
    connector.sign_in_ways?.some(({ name, must_register }) => name === way && must_register === 'key_set') ?? false
  );
}

/** New keys for each sign-in, which no EMR can know. */
function unregisteredKeys(): NonNullable<EmrEndpoint['keys']> {
  return {
    current: async (alg) => ({ kid: `unregistered-${randomUUID()}`, key: (await generateKeyPair(alg)).privateKey }),
  };
}

function oauthError(error: string): OutboundResponse {
  const headers = { 'content-type': 'application/json' };
  return { status: 400, headers, body: Buffer.from(JSON.stringify({ error })), truncated: false };
}

function signIn(env: Environment, endpoint: Parameters<Environment['connector']['signIn']>[0]): Promise<SignIn> {
  return performSignIn(onceMore(env), endpoint, env.credentials, '000000');
}

/** One wrong attempt only, because some EMRs lock a user out after a few. */
function withWrongSecret({ connector, credentials }: Environment): Credentials {
  const secret = connector.credential_fields.find(({ name, secret }) => secret && credentials[name]);
  if (!secret) return skip('no secret is used');
  const value = credentials[secret.name] ?? '';
  return { ...credentials, [secret.name]: `${value.slice(0, -1)}${value.endsWith('x') ? 'y' : 'x'}` };
}
