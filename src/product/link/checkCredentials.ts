import { apiError } from '../../catalog/errors.ts';
import type { Connector, CredentialField, Credentials, SignInWay } from '../../emr/connector.ts';
import { trimText } from '../../model/fields.ts';

/** Trims what was submitted, except secrets: a blank may be part of a password. */
export function trimCredentials(connector: Connector, given: Credentials): Credentials {
  const secrets = new Set(connector.credential_fields.filter(({ secret }) => secret).map(({ name }) => name));
  const trimmed = Object.entries(given).map(([name, value]) => [name, secrets.has(name) ? value : trimText(value)]);
  return Object.fromEntries(trimmed);
}

/** Requires exactly the fields of the chosen sign-in method. */
export function checkCredentials(connector: Connector, credentials: Credentials): void {
  const way = connector.sign_in_ways && chosenWay(connector.sign_in_ways, credentials.way);
  const fields = fieldsOf(connector, way);
  const names = [...fields.map((field) => field.name), ...(way ? ['way'] : [])];
  const unknown = Object.keys(credentials).filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    throw apiError('unexpected_fields', { fields: unknown.map((name) => `credentials.${name}`).join(', ') });
  }
  const missing = fields.find(({ name, optional }) => !optional && !credentials[name]?.trim())?.name;
  if (missing) throw missingField(missing);
}

/**
 * The stored credentials updated with the submitted ones. With another sign-in method or client ID, which is another
 * registration at the EMR, the stored ones are dropped.
 */
export function mergeCredentials(stored: Credentials, given: Credentials): Credentials {
  const changes = (name: string) => given[name] !== undefined && given[name] !== stored[name];
  if (changes('way')) return given;
  if (!stored.client_id || !changes('client_id')) return { ...stored, ...given };
  return { ...(stored.way !== undefined && { way: stored.way }), ...given };
}

function fieldsOf(connector: Connector, way: SignInWay | undefined): readonly CredentialField[] {
  return way
    ? connector.credential_fields.filter(({ name }) => way.fields.includes(name))
    : connector.credential_fields;
}

function chosenWay(ways: readonly SignInWay[], name: string | undefined): SignInWay {
  if (!name) throw missingField('way');
  const way = ways.find((each) => each.name === name);
  if (way) return way;
  const rule = `credentials.way must be one of: ${ways.map((each) => each.name).join(', ')}`;
  throw apiError('invalid_field', { rule }, { field: 'credentials.way' });
}

function missingField(name: string) {
  return apiError('missing_field', { field: `credentials.${name}` }, { field: `credentials.${name}` });
}
