import { type TObject, Type } from 'typebox';
import { Value } from 'typebox/value';
import { operations } from '../api/operations.ts';
import type { Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';
import { addFault, type FaultKind, faultKinds } from '../machine/faults.ts';
import type { Operation } from '../machine/operation.ts';

interface FaultRequest {
  operation: string;
  kind: string;
  times: number;
  delay_ms?: number | null;
  reason?: string | null;
  field?: string | null;
  value?: unknown;
}

/** Only the types: what is wrong with a value is said in words by `setFault`, with the choices there are. */
export const faultBody = Type.Object(
  {
    operation: Type.String(),
    kind: Type.String(),
    times: Type.Number(),
    delay_ms: Type.Optional(Type.Union([Type.Number(), Type.Null()])),
    reason: Type.Optional(Type.Union([Type.String({ maxLength: 500 }), Type.Null()])),
    field: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    value: Type.Optional(Type.Unknown()),
  },
  { additionalProperties: false },
);

export async function setFault(sql: Query, request: FaultRequest): Promise<number> {
  const { operation, kind, times, delay_ms = null, reason = null, field = null, value = null } = request;
  if (!isKind(kind)) throw wrong(`kind '${kind}' is not one of ${Object.keys(faultKinds).join(', ')}.`);
  if (!Number.isInteger(times) || times < 1 || times > TIMES_MAX) throw wrong(`times must be 1 to ${TIMES_MAX}.`);
  const targets = operationsNamed(operation).filter(faultKinds[kind]);
  if (targets.length === 0) throw wrong(`A fault of kind ${kind} never applies to ${operation}.`);
  if (kind === 'delay') checkDelay(delay_ms);
  if (kind === 'correct_value') checkCorrection(targets, field, value);
  return addFault(sql, { operation, kind, timesLeft: times, delayMs: delay_ms, reason, field, value });
}

const TIMES_MAX = 1_000_000;
const DELAY_MS_MAX = 10 * 60_000;

function isKind(kind: string): kind is FaultKind {
  return Object.hasOwn(faultKinds, kind);
}

function operationsNamed(name: string): Operation[] {
  const named = operations.filter((one) => (name === '*' ? one.writes : one.name === name));
  if (named.length > 0) return named;
  throw wrong(`operation '${name}' is neither * nor one of ${operations.map((one) => one.name).join(', ')}.`);
}

function checkDelay(delay_ms: number | null): void {
  if (delay_ms === null || (Number.isInteger(delay_ms) && delay_ms >= 0 && delay_ms <= DELAY_MS_MAX)) return;
  throw wrong(`delay_ms must be 0 to ${DELAY_MS_MAX}.`);
}

/** A corrected value must be one the operation could have been sent: Larkspur stores nothing its own rules forbid. */
function checkCorrection(targets: Operation[], field: string | null, value: unknown): void {
  if (!field) throw wrong('correct_value needs a field and a value.');
  const schemas = targets.flatMap((target) => (target.body as TObject).properties[field] ?? []);
  if (schemas.length === 0 || field === 'externalRef')
    throw wrong(`No such operation has a field '${field}' to correct.`);
  if (!schemas.every((schema) => Value.Check(schema, value)))
    throw wrong(`value is not valid for the field '${field}'.`);
}

function wrong(text: string): EmrError {
  return new EmrError('BAD_REQUEST', text);
}
