import type { Static } from 'typebox';
import type { Config } from '../../../catalog/settings/config.ts';
import { operator_settings } from '../../../catalog/settings/operatorSettings.ts';
import type { sign_in_policy } from './schema.ts';

type Policy = Static<typeof sign_in_policy>;
type Name = keyof typeof operator_settings;

/** What is in force for the sign-in of operators, setting by setting, in the order of the catalog. */
export function describeSignInPolicy(config: Config): Policy {
  // Object.keys() loses the type of a literal's keys.
  const names = Object.keys(operator_settings) as Name[];
  return names
    .filter((name) => name !== 'OWNER_EMAIL')
    .map((name) => {
      const { description, default: by_default } = operator_settings[name];
      const value = formatValue(config[name.toLowerCase() as Lowercase<Name>]);
      const secret = 'secret' in operator_settings[name];
      return {
        setting: name,
        description,
        value: value === undefined ? null : secret ? 'Set' : value,
        is_default: value === undefined || value === String(by_default),
        group: findGroup(name),
      };
    });
}

function findGroup(name: Name): Policy[number]['group'] {
  if (name.startsWith('OIDC_')) return 'single_sign_on';
  if (name.startsWith('FOUR_EYES')) return 'four_eyes';
  return name.startsWith('OPERATOR_SESSION') ? 'sessions' : 'access';
}

/** Undefined for a value that is not set. */
function formatValue(value: Config[Lowercase<Name>]): string | undefined {
  if (value === undefined || value === '') return undefined;
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (typeof value !== 'object') return String(value);
  if ('join' in value) return value.length === 0 ? undefined : value.join(', ');
  return formatRoles(value);
}

function formatRoles(roles: Config['oidc_roles']): string | undefined {
  const pairs = [...roles].flatMap(([claim, grants]) =>
    grants.map(({ role, client_id }) => `${claim} = ${role}${client_id === undefined ? '' : ` in ${client_id}`}`),
  );
  return pairs.length === 0 ? undefined : pairs.join(', ');
}
