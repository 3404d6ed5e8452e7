import { type TObject, Type } from 'typebox';
import { Value } from 'typebox/value';
import { operations } from '../api/operations.ts';
import type { Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';
import { addFault, type FaultKind, faultKinds } from '../http/faults.ts';
import type { Operation } from '../http/operation.ts';

interface FaultRequest {
  operation: string;
  kind: string;
  times: number;
  delay_ms?: number | null;
  reason?: string | null;
  field?: string | null;
  value?: unknown;
}

/** Checks types only. `createFault` checks the values, with error texts that list the allowed ones. */
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

/** Validates and stores a fault. Returns its id. */
export async function createFault(sql: Query, request: FaultRequest): Promise<number> {
  const { operation, kind, times, delay_ms = null, reason = null, field = null, value = null } = request;
  if (!isKind(kind)) throw invalid(`kind '${kind}' is not one of ${Object.keys(faultKinds).join(', ')}.`);
  if (!Number.isInteger(times) || times < 1 || times > TIMES_MAX) throw invalid(`times must be 1 to ${TIMES_MAX}.`);
  const targets = operationsNamed(operation).filter(faultKinds[kind]);
  if (targets.length === 0) throw invalid(`kind ${kind} does not apply to ${operation}.`);
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
  const named = operations.filter((operation) => (name === '*' ? operation.writes : operation.name === name));
  if (named.length > 0) return named;
  const names = operations.map((operation) => operation.name).join(', ');
  throw invalid(`operation '${name}' is not * and not one of ${names}.`);
}

function checkDelay(delay_ms: number | null): void {
  if (delay_ms === null || (Number.isInteger(delay_ms) && delay_ms >= 0 && delay_ms <= DELAY_MS_MAX)) return;
  throw invalid(`delay_ms must be 0 to ${DELAY_MS_MAX}.`);
}

/** The corrected value must be valid in a request, so that Larkspur never stores a value its own rules forbid. */
function checkCorrection(targets: Operation[], field: string | null, value: unknown): void {
  if (!field) throw invalid('correct_value needs a field and a value.');
  const schemas = targets.flatMap((target) => (target.body as TObject).properties[field] ?? []);
  if (schemas.length === 0 || field === 'externalRef') {
    throw invalid(`No matching operation has a correctable field '${field}'.`);
  }
  if (!schemas.every((schema) => Value.Check(schema, value))) {
    throw invalid(`value is not valid for the field '${field}'.`);
  }
}

function invalid(text: string): EmrError {
  return new EmrError('BAD_REQUEST', text);
}
