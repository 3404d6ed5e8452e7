import { type Capability, type Connector, EmrFailure } from './connector.ts';
import type { FieldOperation } from './fields.ts';

/** Whether an EMR can store a field of a request. `capabilities` are those of the account. */
export function takesField(
  connector: Pick<Connector, 'unsupported_fields' | 'capabilities'>,
  capabilities: readonly Capability[],
  operation: FieldOperation,
  field: string,
): boolean {
  if (connector.unsupported_fields[operation]?.includes(field)) return false;
  const of_some_servers: Capability = `${operation}.${field}`;
  return !connector.capabilities.includes(of_some_servers) || capabilities.includes(of_some_servers);
}

/** What an operation throws for a field that it cannot store. Requests with such a field are rejected before. */
export function unsupportedField(field: string): EmrFailure {
  return new EmrFailure('refused', `Field '${field}' is not supported by this EMR.`, { code: 'not_supported' });
}
