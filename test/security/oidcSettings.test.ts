import { expect, test } from 'vitest';
import { loadConfig } from '../../src/catalog/settings/config.ts';

const required = {
  OIDC_ISSUER: 'https://login.example.org',
  OIDC_CLIENT_ID: 'chartwire',
  OIDC_CLIENT_SECRET: 'secret',
  OIDC_ROLES:
    'chartwire-owners=owner, cn=Night Staff%2Cdc=example=operator, day=support@ci_live_a, day=operator@ci_live_b',
};

test('roles are mapped from the values of the claim', () => {
  const { oidc_roles, oidc_role_claim, oidc_only } = loadConfig(required);
  expect([...oidc_roles]).toStrictEqual([
    ['chartwire-owners', [{ role: 'owner' }]],
    ['cn=Night Staff,dc=example', [{ role: 'operator' }]],
    [
      'day',
      [
        { role: 'support', client_id: 'ci_live_a' },
        { role: 'operator', client_id: 'ci_live_b' },
      ],
    ],
  ]);
  expect([oidc_role_claim, oidc_only]).toStrictEqual(['roles', false]);
});

test.each<[Record<string, string>, RegExp]>([
  [{ OIDC_CLIENT_ID: '' }, /OIDC_ISSUER is set, so OIDC_CLIENT_ID must be set too/],
  [{ OIDC_CLIENT_SECRET: '' }, /OIDC_ISSUER is set, so OIDC_CLIENT_SECRET must be set too/],
  [{ OIDC_ROLES: '' }, /OIDC_ISSUER is set, so OIDC_ROLES must be set too/],
  [{ OIDC_ISSUER: '' }, /OIDC_CLIENT_ID is set, so OIDC_ISSUER must be set too/],
  [{ OIDC_ISSUER: 'http://login.example.org' }, /OIDC_ISSUER must use https, unless it is on this machine/],
  [{ OIDC_ROLES: 'staff' }, /OIDC_ROLES must be comma-separated value=role pairs, not 'staff'/],
  [{ OIDC_ROLES: 'staff=boss' }, /The role of 'staff' in OIDC_ROLES must be one of/],
  [{ OIDC_ROLES: 'staff=owner@ci_live_a' }, /The role of 'staff' in OIDC_ROLES in one client must be one of/],
  [{ OIDC_ROLES: 'staff=operator@Night clinic' }, /must name a client by its client ID/],
  [{ OIDC_ONLY: 'on', OIDC_ROLES: 'staff=operator' }, /OIDC_ONLY is on, so OIDC_ROLES must map a value to owner/],
])('an incomplete or wrong setting is refused: %j', (changes, message) => {
  expect(() => loadConfig({ ...required, ...changes })).toThrow(message);
});

test('OIDC_ONLY without an issuer is refused', () => {
  expect(() => loadConfig({ OIDC_ONLY: 'on' })).toThrow(/OIDC_ONLY is on, so OIDC_ISSUER must be set/);
});
