import {
  type Connector,
  createOperations,
  listCapabilities,
  listUnsupportedFields,
  type OutsideConnector,
} from '@chartwire/connector';
import { note_operations } from './notes.js';
import type { ExampleEmrOperation } from './operation.js';
import { patient_operations } from './patients.js';
import { practice_operations } from './practice.js';
import { checkProduct, openSession, signIn, signOut } from './session.js';

const operations: readonly ExampleEmrOperation[] = [...practice_operations, ...patient_operations, ...note_operations];

const connector: Connector = {
  name: 'example-emr',
  display_name: 'Example EMR',
  credential_fields: [
    { name: 'username', label: 'Username', secret: false, autocomplete: 'username' },
    { name: 'password', label: 'Password', secret: true, autocomplete: 'current-password' },
  ],
  limits: { parallel_max: 2 },
  capabilities: listCapabilities(operations),
  unsupported_fields: listUnsupportedFields(operations),
  refuseAddress: (url) =>
    url.pathname === '/' && url.search === '' ? undefined : 'must be the address of the practice without a path.',
  describeServer: async (endpoint) => {
    await checkProduct(endpoint);
    return { capabilities: listCapabilities(operations) };
  },
  signIn,
  signOut,
  // Sends no request yet.
  open: (endpoint, access) => createOperations(operations, openSession(endpoint, access)),
};

export default { ...connector, connector_api: 1 } satisfies OutsideConnector;
