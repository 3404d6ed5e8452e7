import type { ErrorCode } from '../../catalog/errors.ts';
import { event_types } from '../../model/events.ts';
import { groups } from '../../model/groups.ts';
import { acceptsKey, type Endpoint } from '../endpoint.ts';
import { describeAnyEvent, describeEvent, describeOperation, headers } from './describeOperation.ts';
import { schemaDescriber } from './describeSchema.ts';
import type { Document, Operation } from './document.ts';
import { shareErrorResponses } from './errorResponses.ts';

/** Derives the OpenAPI 3.1 document from the public endpoints among those given. */
export function composeOpenApi(endpoints: readonly Endpoint[], info: { version: string; base_url: string }): Document {
  const documented = endpoints.filter(({ surface }) => surface === 'api');
  const used = new Set(documented.map(({ group }) => group));
  const describer = schemaDescriber();
  const paths: Record<string, Record<string, Operation>> = {};
  for (const endpoint of documented) {
    const operation = describeOperation(endpoint, listErrors(endpoint), info.base_url, describer);
    paths[endpoint.path] = { ...paths[endpoint.path], [endpoint.method.toLowerCase()]: operation };
  }
  const responses = shareErrorResponses(Object.values(paths).flatMap((item) => Object.values(item)));
  const events = Object.fromEntries(event_types.map((type) => [type, { post: describeEvent(type, describer) }]));
  const schemas = { ...describer.components, WebhookEvent: describeAnyEvent() };
  return {
    openapi: '3.1.0',
    info: {
      title: 'Chartwire',
      version: info.version,
      description: 'One HTTP API for the electronic medical records (EMRs) of medical practices.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: info.base_url }],
    tags: groups.filter(({ name }) => used.has(name)).map(({ name, description }) => ({ name, description })),
    paths,
    webhooks: events,
    components: {
      schemas: sortByName(schemas),
      examples: sortByName(describer.examples),
      responses: sortByName(responses),
      securitySchemes: Object.fromEntries(
        Object.entries(headers).map(([name, description]) => [
          name,
          { type: 'apiKey', in: 'header', name, description },
        ]),
      ),
    },
  };
}

function sortByName<T>(components: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(components).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The errors an endpoint can return: its own, and those that follow from its authentication, body and query. */
export function listErrors(endpoint: Endpoint): ErrorCode[] {
  const codes: ErrorCode[] = [];
  // Without fields of its own, it still rejects a body that has some.
  if (endpoint.method !== 'GET') {
    codes.push('body_not_json', 'body_not_object', 'unexpected_fields', 'body_too_complex', 'body_too_large');
    codes.push('media_type_unsupported', 'body_encoding_unsupported', 'charset_unsupported');
  }
  if (endpoint.body || endpoint.query) codes.push('missing_field');
  // Any URL can contain a character that cannot be stored.
  codes.push('invalid_field');
  if (endpoint.needs) codes.push('operation_not_offered');
  codes.push('unexpected_query', ...(endpoint.errors ?? []));
  if (acceptsKey(endpoint)) {
    codes.push('idempotency_key_invalid', 'idempotency_key_running', 'idempotency_key_reused');
  }
  if (endpoint.auth !== 'none')
    codes.push('credentials_conflict', 'client_credentials_invalid', 'access_token_invalid', 'rate_limited');
  if (endpoint.auth === 'account') codes.push('access_token_missing');
  if (endpoint.auth === 'account' && !endpoint.while_expired) codes.push('login_required');
  if (endpoint.auth === 'client' || endpoint.auth === 'account') {
    codes.push('client_secret_expired', 'secret_not_permitted', 'client_network_refused');
    codes.push('client_certificate_required', 'client_certificate_refused');
  }
  if (endpoint.quota) codes.push('quota_exceeded');
  if (endpoint.file_field ?? endpoint.embedded_files) codes.push('uploads_busy');
  codes.push('internal', 'database_unavailable', 'database_slow', 'connections_exceeded');
  return [...new Set(codes)];
}
