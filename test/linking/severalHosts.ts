import { createHash } from 'node:crypto';
import { decodeJwt } from 'jose';
import { expect } from 'vitest';
import { emrRules } from '../../src/platform/security/addresses.ts';
import { createOutbound } from '../../src/platform/security/outbound.ts';
import type { Api, ApiResponse } from '../harness/api.ts';
import type { PracticeSize } from '../harness/fhir/practice/sizes.ts';
import { appFor } from '../harness/fhir/registrations.ts';
import { type FhirServer, startFhirServer } from '../harness/fhir/startFhirServer.ts';
import { signInOperator, type TestOperator } from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { type LinkSteps, linkSteps } from './linkSteps.ts';

/** FHIR servers under names of their own: two that are honest, and one that tries to get what is theirs. */
export type SeveralHosts = {
  fixture: TestSandbox;
  owner: TestOperator;
  steps: LinkSteps;
  meadow: FhirServer;
  larch: FhirServer;
  hostile: FhirServer;
  /** Stores an EMR app of a client for one server. Returns its id. */
  addApp(client: TestClient, server: FhirServer, credentials: Record<string, string>, fields?: object): Promise<string>;
  removeApps(): Promise<void>;
  /** A link token of a client for a new user at a server. */
  linkToken(client: TestClient, server: FhirServer, body?: object): Promise<string>;
  /** Signs in as Link does: `credentials` are what the person entered. */
  signIn(link_token: string, credentials?: Record<string, string>): Promise<ApiResponse>;
  startPage(link_token: string, credentials?: Record<string, string>): Promise<ApiResponse>;
  finishPage(returned: URL, window: string, callback_id?: string): Promise<ApiResponse>;
  close(): Promise<void>;
};
export type TestClient = { client_id: string; api: Api };

const domain = 'vendor.example';

export async function startSeveralHosts({
  data = 'small',
  sync_after_link = false,
}: {
  data?: PracticeSize;
  sync_after_link?: boolean;
} = {}): Promise<SeveralHosts> {
  const names = ['meadow', 'larch', 'hostile'].map((name) => `${name}.${domain}`);
  const [fixture, ...servers] = await Promise.all([
    startSandbox({ small: true, sync_after_link, env: { OUTBOUND_ALLOW_EMR: names.join(',') } }),
    ...names.map((name) => startFhirServer({ data, name })),
  ]);
  const [meadow, larch, hostile] = servers as [FhirServer, FhirServer, FhirServer];
  // The service closes the one it has opened.
  const mapped = createOutbound({
    ...emrRules(fixture.ctx.config),
    lookup: async () => [{ address: '127.0.0.1', family: 4 }],
  });
  fixture.ctx.emr_outbound = mapped;
  const owner = await signInOperator(fixture);
  const steps = linkSteps(fixture);
  const asLink = (path: string, link_token: string, body: object) => {
    const headers = { access_token: null, client_id: null, client_secret: null, 'link-token': link_token };
    return fixture.api.call('POST', `/link/v1/${path}`, { headers, body });
  };
  return {
    fixture,
    owner,
    steps,
    meadow,
    larch,
    hostile,
    addApp: async ({ client_id }, server, credentials, fields = {}) => {
      const response = await owner.post(
        `clients/${client_id}/emr-apps`,
        appFor(server.url, credentials, { ...fields }),
      );
      expect(response.status, JSON.stringify(response.body)).toBe(200);
      return response.body.id;
    },
    removeApps: async () => {
      await fixture.owner`UPDATE accounts SET emr_app_id = NULL`;
      await fixture.owner`DELETE FROM emr_apps`;
    },
    linkToken: ({ api }, server, body = {}) =>
      steps.linkToken({ emr_name: 'fhir', emr_instance_domain: server.url, ...body }, api),
    signIn: async (link_token, credentials = {}) => {
      await steps.consent(link_token);
      return asLink('sign-in', link_token, { credentials });
    },
    startPage: async (link_token, credentials = {}) => {
      await steps.consent(link_token);
      return asLink('oauth/start', link_token, { credentials });
    },
    finishPage: (returned, window, callback_id = returned.pathname.split('/').at(-1) ?? '') =>
      fixture.api.call('POST', '/link/v1/oauth/finish', {
        headers: { access_token: null, client_id: null, client_secret: null },
        body: { query: returned.search, window, callback_id },
      }),
    close: async () => {
      await fixture.close();
      await mapped.close();
      await Promise.all(servers.map((server) => server.close()));
    },
  };
}

/** Signs in on a server's page like a person, and returns where the page redirects to. Undefined: it shows an error. */
export async function allowOn(server: FhirServer, url: string | URL): Promise<URL | undefined> {
  const [person] = server.people;
  const form = new URLSearchParams({ username: person?.username ?? '', password: person?.password ?? '' });
  const page = await fetch(local(url), { method: 'POST', body: form, redirect: 'manual' });
  const location = page.headers.get('location');
  return location === null ? undefined : new URL(location);
}

/** The same URL at the address of this machine: only the service maps the names. */
function local(url: string | URL): URL {
  const at = new URL(url);
  at.hostname = '127.0.0.1';
  return at;
}

/**
 * What a server received that belongs to another one: its tokens, codes and secrets, assertions that it would accept,
 * and the verifiers of codes that its page issued.
 */
export function foreignBytes(
  receiver: FhirServer,
  others: readonly FhirServer[],
  secrets: readonly string[],
): string[] {
  const received = receiver.ledger.map(({ path, headers, body }) => ({
    text: decodeURIComponent(`${path}\n${JSON.stringify(headers)}\n${body}`.replace(/%(?![0-9a-f]{2})/gi, '%25')),
    basic: Buffer.from(headers.authorization?.replace(/^Basic /i, '') ?? '', 'base64').toString('latin1'),
    form: new URLSearchParams(body),
  }));
  const issued = [...others.flatMap((other) => other.issued), ...secrets];
  const challenges = new Set(
    others.flatMap(({ ledger }) =>
      ledger.map(({ path }) => new URLSearchParams(path.split('?')[1]).get('code_challenge')),
    ),
  );
  return received.flatMap(({ text, basic, form }) => {
    const assertion = form.get('client_assertion');
    const audience = assertion === null ? undefined : [decodeJwt(assertion).aud].flat()[0];
    const verifier = form.get('code_verifier');
    const challenge = verifier === null ? null : createHash('sha256').update(verifier).digest('base64url');
    return [
      ...issued.filter((each) => text.includes(each) || basic.includes(each)),
      ...(audience !== undefined && new URL(audience).host !== new URL(receiver.url).host ? ['an assertion'] : []),
      ...(challenge !== null && challenges.has(challenge) ? ['a verifier'] : []),
    ];
  });
}
