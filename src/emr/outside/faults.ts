import { type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { version } from '../../catalog/version.ts';
import { type CredentialField, connector_api, type SignInWay } from '../connector.ts';
import { findUnknownCapability, findUnmarkedSecret, listFields, name_pattern } from '../declaration.ts';

/**
 * Why this version cannot use the default export of a module as a connector: the rest of a sentence that starts with the
 * module, and what to do. Undefined if it can.
 */
export function findFault(exported: unknown): string | undefined {
  if (typeof exported !== 'object' || exported === null) {
    return 'has no connector as its default export: write export default { connector_api: 1, name: …, … }.';
  }
  const values = new Map<string, unknown>(
    [...Object.keys(members), 'connector_api'].map((name) => [name, Reflect.get(exported, name)]),
  );
  return findApiFault(values.get('connector_api')) ?? findMemberFault(values) ?? findDeclarationFault(values);
}

function findApiFault(declared: unknown): string | undefined {
  if (declared === connector_api) return undefined;
  if (declared === undefined) {
    return `does not say which interface it was written for: add connector_api: ${connector_api} to its default export.`;
  }
  const update = Number(declared) > connector_api ? 'Update Chartwire, or install an older version of it' : 'Update it';
  return `has connector_api ${String(declared)}, and Chartwire ${version} supports ${connector_api}. ${update}.`;
}

const text = Type.String({ pattern: '\\S' });
const texts = Type.Array(text);
const field = Type.Object({
  name: text,
  label: text,
  secret: Type.Boolean(),
  autocomplete: Type.Enum(['username', 'current-password', 'off'] satisfies CredentialField['autocomplete'][]),
});
const way = Type.Object({ name: text, label: text, about: Type.String(), fields: texts });

type Member = { is: (value: unknown) => boolean; must: string; optional?: true };

/** What must be there, with the right type. Members that the service only calls if they exist are not in this list. */
const members: Readonly<Record<string, Member>> = {
  name: {
    is: (value) => typeof value === 'string' && name_pattern.test(value),
    must: 'must start with a lower-case letter and consist of lower-case letters, digits, - and _',
  },
  display_name: matching(text, 'must be the name of the EMR for people'),
  credential_fields: matching(
    Type.Array(field, { minItems: 1 }),
    'must list the fields of the sign-in form, each with name, label, secret (true or false) and autocomplete',
  ),
  sign_in_ways: {
    ...matching(Type.Array(way, { minItems: 1 }), 'must list sign-in methods, each with name, label, about and fields'),
    optional: true,
  },
  limits: matching(
    Type.Object({ parallel_max: Type.Integer({ minimum: 1 }) }),
    'must be an object with parallel_max, a whole number of at least 1',
  ),
  unsupported_fields: matching(
    Type.Record(Type.String(), texts),
    'must list fields by operation; {} if there are none',
  ),
  required_fields: { ...matching(Type.Record(Type.String(), texts), 'must list fields by operation'), optional: true },
  // May be empty: records of an EMR may also arrive without being read from it.
  capabilities: matching(texts, 'must list operations; see listCapabilities of @chartwire/connector'),
  refuseAddress: functions('refuseAddress'),
  signIn: functions('signIn'),
  open: functions('open'),
};

function matching(schema: TSchema, must: string): Member {
  const compiled = Compile(schema);
  return { is: (value) => compiled.Check(value), must };
}

function functions(name: string): Member {
  return { is: (value) => typeof value === 'function', must: `must be a function; see ${name} of the type Connector` };
}

function findMemberFault(values: ReadonlyMap<string, unknown>): string | undefined {
  for (const [name, { is, must, optional }] of Object.entries(members)) {
    const value = values.get(name);
    if (optional && value === undefined) continue;
    if (!is(value)) return `cannot be used: ${name} ${must}.`;
  }
  return undefined;
}

/** Their types are those of `members`. */
function findDeclarationFault(values: ReadonlyMap<string, unknown>): string | undefined {
  const fields = values.get('credential_fields') as CredentialField[];
  const names = fields.map(({ name }) => name);
  const repeated = names.find((name, at) => names.indexOf(name) !== at);
  if (repeated !== undefined) return `cannot be used: credential_fields has ${repeated} twice. Rename one of them.`;
  const unmarked = findUnmarkedSecret(fields);
  if (unmarked !== undefined) return `cannot be used: the credential field ${unmarked} must have secret: true.`;
  const ways = (values.get('sign_in_ways') ?? []) as SignInWay[];
  const foreign = ways.flatMap((each) => each.fields).find((name) => !names.includes(name));
  if (foreign !== undefined) return `cannot be used: sign_in_ways names ${foreign}, which is not in credential_fields.`;
  return (
    findCapabilityFault(values.get('capabilities') as string[]) ??
    findFieldFault('unsupported_fields', values) ??
    findFieldFault('required_fields', values)
  );
}

function findCapabilityFault(capabilities: readonly string[]): string | undefined {
  const unknown = findUnknownCapability(capabilities);
  const remedy = 'Correct its name, or update Chartwire.';
  if (unknown !== undefined) return `declares ${unknown}, which Chartwire ${version} does not have. ${remedy}`;
  const repeated = capabilities.find((name, at) => capabilities.indexOf(name) !== at);
  return repeated === undefined ? undefined : `cannot be used: capabilities has ${repeated} twice. Remove one of them.`;
}

function findFieldFault(member: string, values: ReadonlyMap<string, unknown>): string | undefined {
  const declared = Object.entries((values.get(member) ?? {}) as Record<string, string[]>);
  for (const [operation, fields] of declared) {
    if (findUnknownCapability([operation]) !== undefined) {
      return `cannot be used: ${member} names the operation ${operation}, which Chartwire ${version} does not have.`;
    }
    const unknown = fields.find((name) => !listFields(operation).includes(name));
    if (unknown !== undefined) {
      return `cannot be used: ${member} names ${operation}.${unknown}, which is not a field of its request. Remove it.`;
    }
  }
  return undefined;
}
