import type { Connector } from '../../src/connectors/connector.ts';
import { connectors } from '../../src/connectors/index.ts';
import { restricted_on_active } from '../../src/writes/patchPatient.ts';
import type { Write } from '../../src/writes/write.ts';
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
    'What can be done with each supported EMR. A request that needs what an EMR lacks is refused at once (`restricted_operation`, `operation_not_offered`, `restricted_field`). `GET /link/emrs` tells the same to programs.',
    '## Linking',
    table(['EMR', '`emr_name`', 'Sign-in fields', 'Patients worked on at once, per account'], facts),
    '## Writes',
    'A write is offered where the EMR has every operation it needs. Servers of one EMR may differ (FHIR R4): then a yes means where this very server has them, and `GET /v1/settings` of the account says so.',
    table(['Write', 'Needs', ...columns], needs),
    '## Restricted fields',
    'Fields that the interface knows for some EMRs only.',
    table(['Request', 'Field', ...columns], restricted),
    '## Operations',
    'What a connector can ask of its EMR. Lists are read by syncs; what an EMR does not list stays empty.',
    table(['Operation', ...columns], offers),
  ]);
}

/** What a person is asked for: the fields, or those of each way there is. */
function signInOf({ sign_in_ways, credential_fields }: Connector): string {
  if (!sign_in_ways) return credential_fields.map(({ name, label }) => `${code(name)} (${label})`).join(', ');
  return sign_in_ways
    .map(({ name, label, fields }) => `${code(name)} (${label}): ${fields.map(code).join(', ')}`)
    .join('; ');
}

/** The fields each write calls restricted when everything it takes is sent to it. */
function restrictedFields(): [request: string, field: string][] {
  const of_writes = (writes as unknown as readonly Partial<Write>[]).flatMap(({ type, body, restrictedFields }) => {
    if (!body || !restrictedFields) return [];
    const sent = Object.entries(body.properties).map(([name, schema]) => {
      const { examples, enum: values } = schema as { examples?: unknown[]; enum?: unknown[] };
      return [name, examples?.[0] ?? values?.at(-1) ?? ''];
    });
    return restrictedFields(Object.fromEntries(sent)).map((field): [string, string] => [code(type ?? ''), field]);
  });
  const on_active = restricted_on_active.map((field): [string, string] => [`${code('patient.update')}, active`, field]);
  return [...of_writes, ...on_active];
}
