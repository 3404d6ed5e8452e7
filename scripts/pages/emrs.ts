import { type Connector, supportsField } from '../../src/emr/connector.ts';
import { connectors } from '../../src/emr/index.ts';
import type { FieldOperation } from '../../src/emr/operations/operations.ts';
import { active_fields } from '../../src/model/requests/patients.ts';
import { writes } from '../../src/product/writes/writes.ts';
import { code, page, table } from './markdown.ts';
import { type PublishedCard, serverMatrix } from './scoreCards.ts';
import { sandboxTable, type VendorServer, vendorMatrix } from './vendors.ts';

const emrs = [...connectors.values()];
const columns = emrs.map((each) => `${each.display_name} (${code(each.name)})`);
const perEmr = (has: (emr: Connector) => boolean) => emrs.map((emr) => (has(emr) ? 'yes' : 'no'));

export function emrsPage(score_cards: readonly PublishedCard[], vendor_servers: readonly VendorServer[]): string {
  const needs = writes.map(({ type, needs, field_needs = {} }) => [
    code(type),
    [
      needs.map(code).join(', '),
      ...Object.entries(field_needs).map(([field, more]) => `with ${code(field)}: ${more.map(code).join(', ')}`),
    ].join('; '),
    ...perEmr((emr) => needs.every((name) => emr.capabilities.includes(name))),
  ]);
  const limited = limitedFields().map(([request, operation, field]) => [
    request,
    code(field),
    ...emrs.map((emr) => fieldSupport(emr, operation, field)),
  ]);
  const operations = [...new Set(emrs.flatMap((each) => each.capabilities))]
    .filter((name) => !name.includes('.'))
    .sort();
  const offers = operations.map((name) => [code(name), ...perEmr((emr) => emr.capabilities.includes(name))]);
  const facts = emrs.map((emr) => [
    emr.display_name,
    code(emr.name),
    describeSignIn(emr),
    String(emr.limits.parallel_max),
  ]);
  return page('EMRs', [
    'What each supported EMR can do. A request that needs something the EMR does not support is rejected immediately (`restricted_operation`, `operation_not_offered`, `restricted_field`, `unsupported_field`). `GET /link/emrs` returns the same information.',
    '## Linking',
    table(['EMR', '`emr_name`', 'Sign-in fields', 'Patients in parallel, per account'], facts),
    '## Writes',
    'A write is available if the EMR has every operation it needs. FHIR R4 servers differ: for them, “yes” means that the connector supports the write, and `GET /v1/settings` of an account shows what its server supports.',
    table(['Write', 'Needs', ...columns], needs),
    '## Fields',
    'Fields that not every EMR supports. “By server”: `capabilities` in `GET /v1/settings` contains the field if the account’s server supports it.',
    table(['Request', 'Field', ...columns], limited),
    '## Operations',
    'The operations that a connector can call. Syncs read the lists; a list that an EMR does not support stays empty.',
    table(['Operation', ...columns], offers),
    '## Servers',
    'FHIR servers differ. The certification kit (`chartwire connectors certify`) was run against Larkspur and against the FHIR test server in the behaviors below. “Works”: supported, and every check passed. “Supported”: no check could use it there. “Refused”: the server refused it, so that it counts as unsupported. “–”: not supported. The OpenEMR column is a test server that behaves like OpenEMR: the connector was not yet run on OpenEMR itself. An operation that is supported and fails does not occur: `npm run scorecards` would not write this table.',
    serverMatrix(score_cards),
    '## Vendors',
    'What an account can do at a server that lists, refuses and pages like the one of a vendor. These test servers are built from the vendors’ public documents: none of it was seen on a live system yet. “Works”: supported, and used successfully on such a server. “Supported”: offered there, but not used. “–”: not supported.',
    vendorMatrix(vendor_servers),
    'Each vendor’s own sandbox can turn “documents” into “seen”. Register an application there, put its credentials into `app.json` ([EMR apps](../guides/fhir-sign-in.md#emr-apps)), and run the check; without `--write-synthetic-records` it only reads. Where a person signs in on the vendor’s page, register the redirect URI `http://127.0.0.1:8765/callback` too; the command prints the page’s URL. `app.json` needs the credentials (`way`, `client_id` and, where the vendor issues one, the secret), and `search_params`, with a value for each name, or `token_endpoint` where the vendor’s preset has them; `--client` names the application whose signing keys the EMR knows.',
    sandboxTable(),
  ]);
}

/** The sign-in fields, grouped by sign-in method if there are several. */
function describeSignIn({ sign_in_ways, credential_fields }: Connector): string {
  if (!sign_in_ways) return credential_fields.map(({ name, label }) => `${code(name)} (${label})`).join(', ');
  return sign_in_ways
    .map(({ name, label, fields }) => `${code(name)} (${label}): ${fields.map(code).join(', ')}`)
    .join('; ');
}

/** The fields that an EMR with the operation, or one of its servers, does not support. */
function limitedFields(): [request: string, operation: FieldOperation, field: string][] {
  const of_writes = writes.flatMap(({ type, body, stored_by }) =>
    body && stored_by ? Object.keys(body.properties).map((field) => [code(type), stored_by, field] as const) : [],
  );
  const on_active = [...active_fields].map(
    (field) => [`${code('patient.update')}, active`, 'updatePatient', field] as const,
  );
  return [...of_writes, ...on_active]
    .filter(([, operation, field]) =>
      emrs.some((emr) => emr.capabilities.includes(operation) && fieldSupport(emr, operation, field) !== 'yes'),
    )
    .map(([...row]) => row);
}

function fieldSupport(emr: Connector, operation: FieldOperation, field: string): string {
  if (!emr.capabilities.includes(operation) || !supportsField(emr, emr.capabilities, operation, field)) return 'no';
  const capabilities: readonly string[] = emr.capabilities;
  return capabilities.includes(`${operation}.${field}`) ? 'by server' : 'yes';
}
