import { hash } from 'node:crypto';
import { type ApiError, apiError } from '../../catalog/errors.ts';
import { parseUrl } from '../../catalog/parseUrl.ts';
import type { Connector, Credentials, SignInWay } from '../../emr/connector.ts';
import { type EndpointPins, fillPin, isAddress, same_host } from '../../emr/endpointPins.ts';
import { checkUrl, emrRules, syntaxRefusal } from '../../platform/security/addresses.ts';
import { checkCertificates, no_certificates, type SentCertificates } from '../accounts/appCertificates.ts';
import { checkMrnSetting } from '../accounts/askEmr.ts';
import type { MrnSetting } from '../accounts/capabilities.ts';
import { requireConnector } from '../accounts/connectAccount.ts';
import type { EmrApp, NewEmrApp } from '../accounts/emrApps.ts';
import { checkLogo, findClient } from '../clients/clients.ts';
import type { Context } from '../context.ts';
import { checkCredentials, mergeCredentials, trimCredentials } from './credentials.ts';
import type { LinkPurpose } from './linkTokens.ts';
import { checkRequestSettings, type SentSettings } from './requestSettings.ts';

type CheckContext = Pick<Context, 'config' | 'connectors'>;

/** An app as an operator enters it. Without an endpoint: the host of the EMR. A blank MRN identifier is none. */
export type NewApp = {
  name: string;
  logo?: string | null;
  emr: string;
  hosts: string[];
  token_endpoint?: string;
  authorization_endpoint?: string | null;
  issuer?: string | null;
  tenant_path?: string | null;
  credentials: Record<string, string>;
} & SentSettings &
  SentCertificates &
  Partial<MrnSetting>;

/** Fields that are not sent stay as they are. */
export type AppChanges = Partial<Omit<NewApp, 'emr'>>;

/** Validates a new app and throws on the first error. Returns it as it is stored. */
export function checkNewApp(ctx: CheckContext, { emr, logo = null, ...sent }: NewApp): Omit<NewEmrApp, 'client_id'> {
  const connector = ctx.connectors.get(emr.toLowerCase());
  if (!connector) {
    const supported = [...ctx.connectors.keys()].join(', ');
    throw apiError('emr_name_unknown', { emr_name: emr, supported }, { field: 'emr' });
  }
  if (logo !== null) checkLogo(logo);
  const { credentials, way, registered } = checkAppCredentials(connector, {}, sent.credentials);
  return {
    name: sent.name.trim(),
    logo,
    connector: connector.name,
    credentials,
    registered,
    uses_key_set: way.must_register === 'key_set',
    ...checkPins(ctx, way, sent),
    ...checkRequestSettings(sent),
    ...checkCertificates(no_certificates, sent),
    ...checkMrnSetting(ctx, connector.name, sent),
  };
}

/** The app with the changes applied. What is not sent stays; so does a secret, unless the sign-in method changes. */
export function checkAppChanges(ctx: CheckContext, app: EmrApp, changes: AppChanges): EmrApp {
  const { name = app.name, logo = app.logo } = changes;
  if (logo !== null) checkLogo(logo);
  const connector = requireConnector(ctx, app.connector);
  const checked = checkAppCredentials(connector, app.credentials, changes.credentials ?? {});
  const { credentials, way, registered } = checked;
  const { hosts, token_endpoint, authorization_endpoint, issuer, tenant_path } = { ...app, ...changes };
  return {
    ...app,
    name,
    logo,
    credentials,
    registered,
    uses_key_set: way.must_register === 'key_set',
    ...checkPins(ctx, way, { hosts: [...hosts], token_endpoint, authorization_endpoint, issuer, tenant_path }),
    ...checkRequestSettings({ ...app, ...changes }),
    ...checkCertificates(app, changes),
    ...checkMrnSetting(ctx, app.connector, { ...app, ...changes }),
  };
}

/** The stored credentials with the changes applied. Before the EMR has issued a client ID, an app has none. */
function checkAppCredentials(
  connector: Connector,
  stored: Credentials,
  changes: Credentials,
): { credentials: Credentials; way: SignInWay; registered: boolean } {
  const credentials = mergeCredentials(stored, trimCredentials(connector, changes));
  const ways = (connector.sign_in_ways ?? []).filter(({ by_app }) => by_app);
  const way = ways.find(({ name }) => name === credentials.way);
  if (!way) {
    const names = ways.map(({ name }) => name).join(', ');
    const rule = ways.length > 0 ? `must be one of: ${names}` : 'cannot be configured for this EMR';
    throw invalid('credentials.way', rule);
  }
  const registered = way.must_register === undefined || Boolean(credentials.client_id);
  if (registered) checkCredentials(connector, credentials);
  else checkCredentials(connector, { ...credentials, client_id: 'not issued yet' });
  return { credentials, way, registered };
}

type SentPins = Pick<NewApp, keyof EndpointPins>;

/** The strictest choice is the default: everything is on the host of the EMR. */
function checkPins(ctx: CheckContext, way: SignInWay, sent: SentPins): EndpointPins {
  const hosts = [...new Set(sent.hosts.map((host) => checkHost(ctx, host)))];
  if (hosts.length === 0) throw invalid('hosts', 'must list at least one host, such as emr.example.org');
  const pin = (field: 'token_endpoint' | 'authorization_endpoint') =>
    checkPin(ctx, field, sent[field] ?? same_host, hosts);
  const issuer = sent.issuer?.trim() || null;
  const refused = issuer === null ? undefined : syntaxRefusal(issuer);
  if (refused !== undefined) throw invalid('issuer', refused);
  return {
    hosts,
    token_endpoint: pin('token_endpoint'),
    authorization_endpoint: way.on_page ? pin('authorization_endpoint') : null,
    issuer,
    tenant_path: checkTenantPath(sent.tenant_path?.trim() || null),
  };
}

function checkTenantPath(path: string | null): string | null {
  const [, before = ''] = path === null ? [] : (/^(.*)\/\{tenant\}$/.exec(path) ?? [undefined, '?']);
  const plain = before.split('/').every((segment, at) => (at === 0 ? segment === '' : isPlainSegment(segment)));
  if (!plain) throw invalid('tenant_path', 'must be a path such as /{tenant} or /api/r4/{tenant}');
  return path;
}

function isPlainSegment(segment: string): boolean {
  return /^[A-Za-z0-9._~:@!$&'()*+,=-]+$/.test(segment) && !/^\.\.?$/.test(segment);
}

/** As in the `host` of a URL: lower case, with the port unless it is the default one. */
function checkHost({ config }: CheckContext, text: string): string {
  const host = text.trim().toLowerCase();
  const [, wildcard = '', name = ''] = /^(\*\.)?([^/?#@*\s]+)$/.exec(host) ?? [];
  const url = parseUrl(`https://${name}`);
  const usable = url?.host === name.replace(/:443$/, '') && !name.endsWith('.');
  if (!url || !usable || (wildcard !== '' && (isAddress(name) || !name.includes('.')))) {
    throw invalid('hosts', 'must be names such as emr.example.org, emr.example.org:8443 or *.example.org');
  }
  const checked = checkUrl(`https://${wildcard === '' ? '' : 'any.'}${url.host}`, emrRules(config));
  if ('refused' in checked) throw invalid('hosts', `: ${host} ${checked.refused}`);
  return wildcard + url.host;
}

/**
 * `same_host`, a URL, or a URL with placeholders, in one spelling: the pairs of token endpoint and client ID are compared
 * by text. What has other spellings, such as percent signs, is refused.
 */
function checkPin({ config }: CheckContext, field: string, text: string, hosts: readonly string[]): string {
  const pin = text.trim();
  if (pin === same_host || pin === '') return same_host;
  const rest = pin.replaceAll('{host}', '').replaceAll('{tenant}', '');
  if (/[{}]/.test(rest)) throw invalid(field, 'may contain the placeholders {host} and {tenant} only');
  const [, authority = '', path = '', query = ''] = /^[^/]*\/\/([^/?#]*)([^?#]*)(.*)$/.exec(pin) ?? [];
  if (authority.includes('{tenant}')) throw invalid(field, 'may contain {tenant} in its path only');
  if (/\{host\}/.test(path + query) || !/^(\{host\}(:\d+)?|[^{}]*)$/.test(authority)) {
    throw invalid(field, 'may contain {host} as its whole host only, such as https://{host}/token');
  }
  for (const host of hosts) {
    const checked = checkUrl(fillPin(pin, host.replace('*', 'any')).replaceAll('{tenant}', 'tenant'), emrRules(config));
    if ('refused' in checked) throw invalid(field, checked.refused);
    if (checked.hostname.endsWith('.')) throw invalid(field, 'must not have a dot at the end of its host');
  }
  if (query !== '' && field === 'token_endpoint') throw invalid(field, 'must not have a query (?)');
  if (query.includes('{')) throw invalid(field, 'may contain {tenant} in its path only');
  return normalizePin(field, pin, path);
}

/** Stands for `{host}`, which the URL parser does not take for a host in every version. */
const any_host = 'any-host.invalid';

function normalizePin(field: string, pin: string, typed_path: string): string {
  const { protocol, host, pathname, search } = new URL(pin.replace('{host}', any_host));
  const path = pathname.replaceAll('%7Btenant%7D', '{tenant}');
  const segments = path.slice(1).replace(/\/$/, '').split('/');
  const plain = path === '/' || segments.every((segment) => segment === '{tenant}' || isPlainSegment(segment));
  if (typed_path.includes('%') || !plain || segments.filter((segment) => segment === '{tenant}').length > 1) {
    throw invalid(
      field,
      'must have a plain path: without percent signs, semicolons and empty segments, and {tenant} once, as a whole segment',
    );
  }
  return `${protocol}//${pin.includes('{host}') ? host.replace(any_host, '{host}') : host}${path}${search}`;
}

function invalid(field: string, rule: string): ApiError {
  return apiError('invalid_field', { rule: `${field} ${rule}`.replace(' : ', ': ') }, { field });
}

/** What the URLs that are registered with an EMR depend on. */
export type Registration = Pick<LinkPurpose, 'client_id' | 'emr_app_id' | 'emr_address'>;

/**
 * The last part of the redirect URI: one per EMR app, or per client and EMR without one. A response that arrives at the
 * redirect URI of another EMR is refused (RFC 9700, section 4.4.2.2).
 */
export function callbackId({ client_id, emr_app_id, emr_address }: Registration): string {
  return emr_app_id ?? hash('sha256', `${client_id}\n${emr_address}`).slice(0, 32);
}

/** The redirect URI that must be registered with the EMR. */
export function returnAddress(ctx: Pick<Context, 'base_url'>, callback_id: string): string {
  return `${ctx.base_url}/link/v1/oauth/callback/${callback_id}`;
}

/** In place of an EMR app, where tests sign in with a key and without an app. */
export const sandbox_label = 'sandbox';

/** The public keys of a client, under a URL of its own for each EMR app, so that the EMRs that fetch it can be told apart. */
export function keySetUrl(ctx: Pick<Context, 'base_url'>, public_id: string, emr_app_id: string | null): string {
  return `${ctx.base_url}/.well-known/jwks/${public_id}/${emr_app_id ?? sandbox_label}.json`;
}

/** The key set that the EMR of a link must know. */
export async function findKeySetUrl(ctx: Context, { client_id, emr_app_id }: Registration): Promise<string> {
  const client = await findClient(ctx, client_id);
  return keySetUrl(ctx, client?.public_id ?? '', emr_app_id);
}
