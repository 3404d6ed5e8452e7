import type { TObject } from 'typebox';
import { supportsField } from '../../../emr/connector.ts';
import { descriptions } from '../../../model/descriptions.ts';
import type { StoredAccount } from '../../../product/accounts/accounts.ts';
import { listCapabilities, requireConnector } from '../../../product/accounts/connectAccount.ts';
import type { Context } from '../../../product/context.ts';
import type { RerunCandidate } from '../../../product/jobs/listJobs.ts';
import type { Editable } from '../../../product/writes/editJob.ts';
import { findReferences, nameReferences } from './references.ts';
import type { Choice, EditField } from './schema.ts';

type FailedRequest = Editable & { job: RerunCandidate; account: StoredAccount };

/**
 * The request of a job as a form, from the schema of the write's body: nothing here knows a single write. Fields that the
 * EMR cannot store are left out, unless the request has them.
 */
export async function describeForm(
  ctx: Context,
  { job, write, request, account }: FailedRequest,
): Promise<EditField[]> {
  const { body, stored_by } = write;
  const connector = requireConnector(ctx, account.connector);
  const capabilities = listCapabilities(ctx, account);
  const required_fields: readonly string[] = [
    ...(body.required ?? []),
    ...((connector.required_fields?.[stored_by] as readonly string[] | undefined) ?? []),
  ];
  const names = await nameReferences(ctx.db, account, body, request);
  const accepted = readAccepted(job.error?.details ?? {});
  return Object.entries(body.properties)
    .filter(([name]) => name in request || supportsField(connector, capabilities, stored_by, name))
    .map(([name, schema]) => ({
      name,
      description: describe(name, schema),
      ...chooseInput(body, name, schema),
      required: required_fields.includes(name),
      max_length: maxLength(schema),
      value: request[name] ?? null,
      cleared: name in request && request[name] === null,
      instead_of: (schema as Node).instead_of ?? [],
      names: names.get(name) ?? [],
      accepted: accepted[name] ?? [],
    }));
}

/** The values that the EMR named when it rejected the request, by field (`EmrFailure.details`). */
function readAccepted({ accepted }: Record<string, unknown>): Record<string, string[]> {
  return Object.fromEntries(
    Object.entries(Object(accepted)).map(([field, values]) => [field, Array.isArray(values) ? values.map(String) : []]),
  );
}

type Node = {
  type?: string;
  format?: string;
  description?: string;
  notation?: string;
  maxLength?: number;
  enum?: readonly unknown[];
  anyOf?: readonly Node[];
  items?: Node;
  takes_boolean?: boolean;
  instead_of?: string[];
  'x-enumDescriptions'?: Readonly<Record<string, string>>;
};

function chooseInput(body: TObject, name: string, schema: Node): Pick<EditField, 'input' | 'choices' | 'searchable'> {
  const references = findReferences(body, name);
  const plain = { choices: [], searchable: references.length > 0 };
  if (schema.takes_boolean) return { ...plain, input: 'choice', choices: yes_or_no };
  if (schema.enum) return { ...plain, input: 'choice', choices: toChoices(schema) };
  if (schema.type === 'boolean') return { ...plain, input: 'boolean', choices: yes_or_no };
  if (schema.type === 'number' || schema.type === 'integer') return { ...plain, input: 'number' };
  if (schema.format === 'date') return { ...plain, input: 'date' };
  if (schema.items?.type === 'string') return { ...plain, input: 'list' };
  if (schema.type !== 'string' && !schema.anyOf?.some(({ type }) => type === 'string'))
    return { ...plain, input: 'json' };
  return { ...plain, input: schema.anyOf ? 'json' : 'text' };
}

const yes_or_no: Choice[] = [
  { value: 'true', label: 'Yes' },
  { value: 'false', label: 'No' },
];

function toChoices({ enum: values = [], 'x-enumDescriptions': texts = {} }: Node): Choice[] {
  return values.map((value) => {
    const text = texts[String(value)];
    const named = text !== undefined && text.toLowerCase() !== String(value).toLowerCase();
    return { value: String(value), label: named ? `${text} (${value})` : (text ?? String(value)) };
  });
}

/** Limits below the general one, which is too large to be of interest. */
function maxLength({ maxLength: max = Number.POSITIVE_INFINITY }: Node): number | null {
  return max <= 1_000 ? max : null;
}

/** Without what only applications need to know. */
function describe(name: string, { description, notation }: Node): string {
  const text = (description ?? descriptions[name] ?? '').replaceAll(
    /,? (named as in|code or name as in|from) GET \/v1\/\S+( or \/v1\/\S+)?( \([^)]*\))?/g,
    '',
  );
  return [text, notation && `(${notation})`].filter(Boolean).join(' ');
}
