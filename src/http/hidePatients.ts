import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { parseUrl } from '../catalog/parseUrl.ts';
import type { Context } from '../product/context.ts';
import { roleIn } from '../product/operators/operatorAccess.ts';
import { isRevealed } from '../product/operators/operatorSessions.ts';
import type { Operator } from '../product/operators/operators.ts';
import { readSessionCookie, requiredRole } from './auth/authenticateOperator.ts';
import { type Endpoint, JsonText, WithHeaders } from './endpoint.ts';

/** A field of responses whose patient details can be revealed: the caller's role hides them. */
export const details_hidden = Type.Optional(Type.Boolean());

/** Replaces a hidden text. */
const hidden_text = '•••';

/** The response as the caller may see it: without patient details, if the role of an operator hides them. */
export async function showToOperator(
  ctx: Context,
  endpoint: Endpoint,
  { caller, headers, params }: Pick<FastifyRequest, 'caller' | 'headers' | 'params'>,
  response: unknown,
): Promise<unknown> {
  const { operator, client } = caller ?? {};
  if (!operator || !isHiddenFrom(endpoint, operator, client?.id)) return response;
  const { reveals } = endpoint;
  const session = readSessionCookie(ctx, headers);
  if (client && reveals && session !== undefined) {
    const subject = (params as Record<string, string>)[reveals.param] ?? '';
    if (await isRevealed(ctx.db, { client_id: client.id, session, kind: reveals.kind, subject })) return response;
  }
  return hidePatients(endpoint, response);
}

/**
 * A response across clients is shown by the operator's lowest role in the clients that it can be about: those in which
 * the role suffices for the endpoint.
 */
function isHiddenFrom(endpoint: Endpoint, operator: Operator, client_id: string | undefined): boolean {
  if (client_id !== undefined) return roleIn(operator, client_id) === 'support';
  return requiredRole(endpoint) === 'support' && !seesPatients(operator);
}

/** Whether an operator sees patient details in a list across clients. */
export function seesPatients({ all_clients, role, clients }: Operator): boolean {
  return all_clients ? role !== 'support' : clients.every((each) => each.role !== 'support');
}

/**
 * Only the declared fields, and of those marked with `patientDetail` (model/fields.ts) no values. `details_hidden` is
 * set where the schema has it. A response that is not JSON cannot be checked field by field, so its endpoint must
 * require another role, unless it shows nothing of a client.
 */
function hidePatients(endpoint: Endpoint, response: unknown): unknown {
  if (response instanceof WithHeaders) {
    return new WithHeaders(hidePatients(endpoint, response.body), response.headers);
  }
  if (response instanceof JsonText) return hidePatients(endpoint, JSON.parse(response.text));
  if (typeof response === 'string' || response instanceof Readable) {
    if (endpoint.reach === 'own') return response;
    throw new Error(`The response of ${endpoint.id} cannot be shown without patient details.`);
  }
  const schema: Node = endpoint.response;
  const shown = show(schema, response);
  return schema.properties?.details_hidden && isObject(shown) ? { ...shown, details_hidden: true } : shown;
}

/** The parts of a JSON schema that TypeBox writes for our declarations. */
type Node = {
  type?: string;
  enum?: readonly unknown[];
  const?: unknown;
  anyOf?: readonly Node[];
  items?: Node;
  properties?: Record<string, Node>;
  patternProperties?: Record<string, Node>;
  patient_detail?: true;
  secret_url?: true;
};

function show(schema: Node | undefined, value: unknown): unknown {
  if (value === null || value === undefined) return value;
  if (!schema || schema.patient_detail) return hide(value);
  if (schema.anyOf) {
    return show(
      schema.anyOf.find((branch) => accepts(branch, value)),
      value,
    );
  }
  if (!accepts(schema, value)) return hide(value);
  if (schema.secret_url) return hidePath(String(value));
  if (Array.isArray(value)) return value.map((each) => show(schema.items, each));
  if (!isObject(value)) return value;
  const { properties = {}, patternProperties = {} } = schema;
  const [of_any_name] = Object.values(patternProperties);
  const names = Object.keys(value).filter((name) => Object.hasOwn(properties, name) || of_any_name);
  return Object.fromEntries(
    names.map((name) => [name, show(Object.hasOwn(properties, name) ? properties[name] : of_any_name, value[name])]),
  );
}

/** Enough to tell endpoints apart. */
function hidePath(url: string): string {
  const parsed = parseUrl(url);
  return parsed ? `${parsed.origin}/${hidden_text}` : hidden_text;
}

function hide(value: unknown): unknown {
  if (Array.isArray(value)) return [];
  if (isObject(value)) return {};
  return typeof value === 'string' ? hidden_text : null;
}

/** Whether the schema describes values of this kind. One without a type describes anything, and so says too little. */
function accepts(schema: Node, value: unknown): boolean {
  if (schema.patient_detail || schema.anyOf) return true;
  if (schema.enum) return schema.enum.includes(value);
  if (schema.const !== undefined) return schema.const === value;
  switch (schema.type) {
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'integer':
    case 'number':
      return typeof value === 'number';
    default:
      return schema.type === typeof value;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
