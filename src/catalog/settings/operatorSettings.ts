import { StartFailure } from '../errors.ts';
import { type FourEyesAction, four_eyes_names } from '../fourEyes.ts';
import { client_roles, type OperatorRole, operator_roles } from '../roles.ts';
import {
  allowedNetworks,
  choice,
  type Environment,
  list,
  number,
  oneOf,
  privateAddress,
  type Setting,
  text,
} from './settingValues.ts';

const default_scopes = 'openid email profile';

/** Settings of the sign-in of operators. Of single sign-on, either all that are required are set, or none. */
export const operator_settings = {
  OWNER_EMAIL: text(
    'Email address of the owner account created at the first start (not in the sandbox).',
    'owner@localhost',
  ),
  DASHBOARD_NETWORKS: {
    description:
      'Networks from which the dashboard can be used: comma-separated addresses or networks. Its pages, its API and sessions that are signed in are refused elsewhere. Behind a reverse proxy, TRUSTED_PROXIES must be set too.',
    example: '10.0.0.0/8,2001:db8::/32',
    default: 'none: anywhere',
    parse: (value, _env, name) => allowedNetworks(name, list(value)),
  } satisfies Setting<string[]>,
  OPERATOR_SECOND_FACTOR: choice(
    'required: operators who sign in with a password must set up a passkey or an authenticator app before they can use the dashboard. optional: they can.',
    ['required', 'optional'],
    'required',
    'optional',
  ),
  OPERATOR_SESSION_IDLE_MINUTES: number(
    'Minutes without an action of the operator after which a session ends.',
    15,
    1,
    1_440,
  ),
  OPERATOR_SESSION_HOURS: number('Hours after the sign-in at which a session ends at the latest.', 12, 1, 24),
  OPERATOR_SESSIONS_MAX: number(
    'How many sessions an operator can have at the same time: a sign-in ends the oldest ones beyond that. 0: any number.',
    0,
    0,
    100,
  ),
  OPERATOR_INACTIVE_DAYS: number(
    'Days without use after which an operator is disabled, except for the owner who was active last. 0: never.',
    0,
    0,
    3_650,
  ),
  FOUR_EYES: {
    description: `Actions in the dashboard that a second operator with the same right must approve, separated by commas: ${four_eyes_names.join(', ')}. Commands on the server and the API are not affected.`,
    example: four_eyes_names.join(','),
    default: 'none',
    parse: (value, _env, name) => [...new Set(list(value).map((each) => oneOf(name, each, four_eyes_names)))],
  } satisfies Setting<readonly FourEyesAction[]>,
  FOUR_EYES_HOURS: number(
    'Hours in which such an action must be approved, and in which it must run afterwards.',
    24,
    1,
    168,
  ),
  OIDC_ISSUER: {
    description:
      'Issuer URL of the OpenID Connect provider with which operators sign in to the dashboard. Its host may be private. Register BASE_URL/dashboard/sign-in/callback as the redirect URI.',
    example: 'https://login.example.org/realms/clinic',
    default: 'none: operators sign in with local passwords',
    parse: (value, env, name) => {
      if (!value) return undefined;
      for (const required of ['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'OIDC_ROLES']) {
        if (!isSet(env, required)) throw new StartFailure(`${name} is set, so ${required} must be set too.`);
      }
      return privateAddress(name, value);
    },
  } satisfies Setting<string | undefined>,
  OIDC_CLIENT_ID: forIssuer('Client ID that the provider issued for this service.', 'chartwire'),
  OIDC_CLIENT_SECRET: {
    ...forIssuer('Client secret that the provider issued for this service.', '<secret>'),
    secret: true,
  },
  OIDC_ROLE_CLAIM: text(
    'Claim in the ID token or user info that lists an operator’s groups or roles. Use dots for nested objects, such as realm_access.roles.',
    'roles',
  ),
  OIDC_ROLES: {
    description: `Roles by value of that claim: comma-separated value=role pairs; roles are ${operator_roles.join(', ')}. value=role@client_id gives a role in one client, and several pairs may have the same value. Without a client, a role other than owner applies to the clients that an owner assigns to the operator. The highest role applies; people without one are refused. Write a comma in a value as %2C.`,
    example: 'chartwire-owners=owner,night-shift=operator@ci_live_example',
    default: 'required when OIDC_ISSUER is set',
    parse: (value, env, name) => roleMap(name, requireIssuer(name, value, env)),
  } satisfies Setting<RoleMap>,
  OIDC_SCOPES: {
    description:
      'Scopes that are requested at sign-in, separated by spaces. Some providers need offline_access to issue refresh tokens, or another one for the claim with the roles.',
    example: 'openid email profile offline_access',
    default: default_scopes,
    parse: (value, _env, name) => {
      const scopes = value?.trim() || default_scopes;
      if (scopes.split(/\s+/).includes('openid')) return scopes;
      throw new StartFailure(`${name} must include openid.`);
    },
  } satisfies Setting<string>,
  OIDC_ACR_VALUES: valuesForIssuer(
    'Authentication context classes (acr), separated by commas. They are requested from the provider (acr_values), and a sign-in whose ID token has none of them is refused.',
    'urn:example:mfa',
  ),
  OIDC_AMR_VALUES: valuesForIssuer(
    'Authentication methods (amr), separated by commas, such as mfa or hwk. A sign-in whose ID token lists none of them is refused.',
    'mfa,hwk',
  ),
  OIDC_CHECK_SECONDS: number(
    'How often the provider is asked about an operator whose session is in use, in seconds. 0: only at sign-in.',
    60,
    0,
    3_600,
  ),
  OIDC_CHECK_GRACE_MINUTES: number(
    'How long a session continues if the provider does not answer. After that, the operator must sign in again.',
    15,
    0,
    720,
  ),
  OIDC_LABEL: text('Text of the button on the sign-in page.', 'Single sign-on'),
  OIDC_ONLY: {
    description:
      'on: local passwords are not accepted. On the server, chartwire operators reset creates a password that works for one hour.',
    example: 'on',
    default: 'off',
    parse: (value, env, name) => {
      const only = oneOf(name, value || 'off', ['on', 'off']) === 'on';
      if (!only) return false;
      if (!isSet(env, 'OIDC_ISSUER')) throw new StartFailure(`${name} is on, so OIDC_ISSUER must be set.`);
      const mapped = [...roleMap('OIDC_ROLES', env.OIDC_ROLES).values()].flat();
      if (mapped.some(({ role }) => role === 'owner')) return true;
      throw new StartFailure(`${name} is on, so OIDC_ROLES must map a value to owner: nobody could manage operators.`);
    },
  } satisfies Setting<boolean>,
} as const;

function forIssuer(description: string, example: string): Setting<string> {
  return {
    description,
    example,
    default: 'required when OIDC_ISSUER is set',
    parse: (value, env, name) => requireIssuer(name, value, env) ?? '',
  };
}

function valuesForIssuer(description: string, example: string): Setting<readonly string[]> {
  const parse: Setting<readonly string[]>['parse'] = (value, env, name) => {
    const values = (requireIssuer(name, value, env) ?? '').split(',').map((each) => each.trim());
    const spaced = values.find((each) => /\s/.test(each));
    if (spaced !== undefined) throw new StartFailure(`${name} must be separated by commas, not spaces: '${spaced}'.`);
    return values.filter((each) => each !== '');
  };
  return { description, example, default: 'none: any sign-in of the provider is accepted', parse };
}

/** A setting of single sign-on without an issuer is a mistake, such as a misspelled OIDC_ISSUER. */
function requireIssuer(name: string, value: string | undefined, env: Environment): string | undefined {
  if (!value || isSet(env, 'OIDC_ISSUER')) return value;
  throw new StartFailure(`${name} is set, so OIDC_ISSUER must be set too.`);
}

function isSet(env: Environment, name: string): boolean {
  return Boolean(env[name]?.trim());
}

/** What a value of the claim gives: a role, in one client or without one. */
type MappedRole = { role: OperatorRole; client_id?: string };
type RoleMap = ReadonlyMap<string, readonly MappedRole[]>;

/** The last equals sign separates, because names of groups in directories contain some: `cn=owners%2Cdc=example`. */
function roleMap(name: string, value: string | undefined): RoleMap {
  const pairs = (value ?? '').split(',').filter((pair) => pair.trim() !== '');
  const map = new Map<string, MappedRole[]>();
  for (const pair of pairs) {
    const [, claimed = '', role = ''] = /^\s*(.+?)\s*=\s*([^=]*?)\s*$/.exec(pair) ?? [];
    const decoded = percentDecoded(claimed);
    if (!decoded) throw new StartFailure(`${name} must be comma-separated value=role pairs, not '${pair.trim()}'.`);
    map.set(decoded, [...(map.get(decoded) ?? []), mappedRole(`The role of '${decoded}' in ${name}`, role)]);
  }
  return map;
}

function mappedRole(name: string, text: string): MappedRole {
  const [, role = '', client_id] = /^([^@]*)(?:@(.*))?$/.exec(text) ?? [];
  if (client_id === undefined) return { role: oneOf(name, role, operator_roles) };
  if (!/^ci_(live|test)_\w+$/.test(client_id)) {
    throw new StartFailure(
      `${name} must name a client by its client ID, such as operator@ci_live_…, not '${client_id}'.`,
    );
  }
  // Owners manage the installation, so they cannot be limited to a client.
  return { role: oneOf(`${name} in one client`, role, client_roles), client_id };
}

function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
