import type { FastifyRequest } from 'fastify';
import type { LoggedRequest } from '../product/context.ts';
import type { Endpoint, Surface } from './endpoint.ts';

const policies: Record<Surface, { logged: boolean }> = {
  api: { logged: true },
  link_page: { logged: true },
  // The page's own requests would flood the request log.
  dashboard: { logged: false },
};

/** A request over its address's limit is not logged: the flood would fill the log. */
export function isLogged({ code, caller, url }: FastifyRequest, endpoint: Endpoint | undefined): boolean {
  if (code === 'rate_limited' && !caller) return false;
  if (code === 'route_not_found' || code === 'method_not_allowed') return !url.startsWith('/dashboard');
  return endpoint !== undefined && policies[endpoint.surface].logged;
}

/** What the request log stores. */
export function loggedRequest(
  request: FastifyRequest,
  endpoint: Endpoint | undefined,
  fields: Pick<LoggedRequest, 'endpoint' | 'status' | 'duration_ms'>,
  maskPath: (url: string) => string,
): LoggedRequest {
  return {
    id: request.id,
    client_id: request.caller?.client?.id ?? null,
    account_id: request.caller?.account?.id ?? null,
    ...fields,
    method: request.method,
    code: request.code ?? null,
    path: endpoint ? null : maskPath(request.url),
    field: declaredField(request.error_field, endpoint),
    job_id: request.audit?.jobId() ?? null,
  };
}

/** The field at fault, if the endpoint declares it: any other name is the caller's text. */
function declaredField(error_field: string | undefined, endpoint: Endpoint | undefined): string | null {
  if (error_field === undefined) return null;
  const { body, query, params } = endpoint ?? {};
  const declared = [body, query, params].some((schema) => isDeclared(schema, error_field.split(/\.|(?=\[)/)));
  return declared ? error_field : null;
}

type Node = { properties?: Record<string, Node>; items?: Node; anyOf?: Node[] };

function isDeclared(schema: Node | undefined, [name, ...rest]: string[]): boolean {
  if (name === undefined || schema === undefined) return schema !== undefined;
  if (schema.anyOf) return schema.anyOf.some((branch) => isDeclared(branch, [name, ...rest]));
  if (name.startsWith('[')) return isDeclared(schema.items, rest);
  const { properties = {} } = schema;
  return isDeclared(Object.hasOwn(properties, name) ? properties[name] : undefined, rest);
}
