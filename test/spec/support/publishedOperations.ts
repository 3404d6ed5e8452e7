import { expect } from 'vitest';
import type { Api, ApiResponse } from '../../harness/api.ts';

/** An operation of /openapi.json; `url` is its path with an unknown id. */
export type Operation = {
  method: string;
  path: string;
  url: string;
  takes_body: boolean;
  media_type: string | undefined;
  /** An access token only limits the response to its account. */
  account_optional: boolean;
};

const unknown_id = '0'.repeat(32);

/**
 * Every published operation whose path starts with one of these prefixes. Without those of the account itself, which
 * would unlink the account that the tests use; accountTokens.test.ts covers them. Without streams, which have no end;
 * test/webhooks/eventStream.test.ts covers them.
 */
export async function readOperations(api: Api, ...prefixes: string[]): Promise<Operation[]> {
  const { body } = await api.call('GET', '/openapi.json');
  const operations = Object.entries<Record<string, ApiResponse['body']>>(body.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { requestBody, parameters, responses }]) => ({
      method: method.toUpperCase(),
      path,
      url: path.replaceAll(/\{\w+\}/g, unknown_id),
      takes_body: requestBody !== undefined,
      media_type: requestBody && Object.keys(requestBody.content)[0],
      account_optional: parameters.some(({ name }: { name: string }) => name === 'access_token'),
      stream: 'text/event-stream' in (responses['200'] ?? responses['202']).content,
    })),
  );
  const matches = operations.filter(
    ({ path, stream }) =>
      !stream && !/^\/v1\/account(\/|$)/.test(path) && prefixes.some((prefix) => path.startsWith(prefix)),
  );
  expect(matches.length).toBeGreaterThan(0);
  return matches;
}

/** Webhook registration and the client's own lists need the two client headers only. */
export function needsClientOnly({ path, account_optional }: Operation): boolean {
  return account_optional || path === '/v1/webhook' || path.startsWith('/v1/webhook/');
}

/** These operations stay available while the link of the account is expired. */
export function availableWhileExpired(operation: Operation): boolean {
  const { path } = operation;
  return needsClientOnly(operation) || path.startsWith('/v1/webhook-events') || path.startsWith('/v1/jobs');
}

/** Headers that omit all credentials. */
export const no_credentials = { client_id: null, client_secret: null, access_token: null };
