import type { CredentialField } from './connector.ts';
import { list_names, operations, read_names, write_names } from './operations/operations.ts';

/** The rules for what a connector declares. Certification checks them, and so does the start of the service. */

/** Clients send it as `emr_name`, in any case. */
export const name_pattern = /^[a-z][a-z0-9_-]*$/;

const operation_names: readonly string[] = [...list_names, ...read_names, ...write_names];

/** A capability that is neither an operation nor a field of one. */
export function findUnknownCapability(capabilities: readonly string[]): string | undefined {
  return capabilities.find((capability) => {
    const [operation = '', field] = capability.split('.');
    return !operation_names.includes(operation) || (field !== undefined && !listFields(operation).includes(field));
  });
}

/** The fields of the requests that an operation stores. Empty if its input does not come from fields. */
export function listFields(operation: string): string[] {
  const declared = new Map<string, object>(Object.entries(operations)).get(operation) ?? {};
  if (!('fields' in declared)) return [];
  // Every declaration with `fields` has a body.
  return Object.keys((declared.fields as { body: { properties: object } }).body.properties);
}

/** A field that seems to be a secret and is not marked as one. */
export function findUnmarkedSecret(fields: readonly Pick<CredentialField, 'name' | 'secret'>[]): string | undefined {
  const unmarked = fields.find(
    ({ name, secret }) => !secret && /password|secret|token|private_key/i.test(name) && !/way|method/i.test(name),
  );
  return unmarked?.name;
}
