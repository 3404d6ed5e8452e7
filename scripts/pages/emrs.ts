import type { Connector } from '../../src/connectors/connector.ts';
import { connectors } from '../../src/connectors/index.ts';
import { restricted_on_active } from '../../src/writes/patients/patchPatient.ts';
import { writes } from '../../src/writes/writes.ts';
import { code, page, table } from './markdown.ts';

const emrs = [...connectors.values()];
const columns = emrs.map((each) => `${each.display_name} (${code(each.name)})`);
const perEmr = (has: (emr: Connector) => boolean) => emrs.map((emr) => (has(emr) ? 'yes' : 'no'));

export function emrsPage(): string {
  const needs = writes.map(({ type, needs }) => [
    code(type),
    needs.map(code).join(', '),
    ...perEmr((emr) => needs.every((name) => emr.capabilities.includes(name))),
  ]);
  const restricted = restrictedFields().map(([request, field]) => [
    request,
    code(field),
    ...perEmr((emr) => emr.restricted_fields),
  ]);
  const operations = [...new Set(emrs.flatMap((each) => each.capabilities))].sort();
  const offers = operations.map((name) => [code(name), ...perEmr((emr) => emr.capabilities.includes(name))]);
  const facts = emrs.map((emr) => [emr.display_name, code(emr.name), signInOf(emr), String(emr.limits.parallel_max)]);
  return page('EMRs', [
    'What each supported EMR can do. A request that needs something the EMR lacks is rejected immediately (`restricted_operation`, `operation_not_offered`, `restricted_field`). `GET /link/emrs` returns the same information.',
    '## Linking',
    table(['EMR', '`emr_name`', 'Sign-in fields', 'Patients in parallel, per account'], facts),
    '## Writes',
    'A write is available if the EMR has every operation it needs. FHIR R4 servers differ: for them, “yes” means that the connector supports the write, and `GET /v1/settings` of an account shows what its server supports.',
    table(['Write', 'Needs', ...columns], needs),
    '## Restricted fields',
    'Fields that only some EMRs support.',
    table(['Request', 'Field', ...columns], restricted),
    '## Operations',
    'The operations that a connector can call. Syncs read the lists; a list that an EMR does not offer stays empty.',
    table(['Operation', ...columns], offers),
  ]);
}

/** The sign-in fields, grouped by sign-in method if there are several. */
function signInOf({ sign_in_ways, credential_fields }: Connector): string {
  if (!sign_in_ways) return credential_fields.map(({ name, label }) => `${code(name)} (${label})`).join(', ');
  return sign_in_ways
    .map(({ name, label, fields }) => `${code(name)} (${label}): ${fields.map(code).join(', ')}`)
    .join('; ');
}

/** The fields that each write reports as restricted when every field of its body is sent. */
function restrictedFields(): [request: string, field: string][] {
  const of_writes = writes.flatMap(({ type, body, restrictedFields }) => {
    if (!body || !restrictedFields) return [];
    const sent = Object.entries(body.properties).map(([name, schema]) => {
      const { examples, enum: values } = schema as { examples?: unknown[]; enum?: unknown[] };
      return [name, examples?.[0] ?? values?.at(-1) ?? ''];
    });
    return restrictedFields(Object.fromEntries(sent)).map((field): [string, string] => [code(type), field]);
  });
  const on_active = restricted_on_active.map((field): [string, string] => [`${code('patient.update')}, active`, field]);
  return [...of_writes, ...on_active];
}
