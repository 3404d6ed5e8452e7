import { expect } from 'vitest';
import type { Answer, Api } from '../../harness/api.ts';

/** One operation of the published reference; `url` is its path with an id that names nothing. */
export type Operation = {
  method: string;
  path: string;
  url: string;
  takes_body: boolean;
  media_type: string | undefined;
};

const nobody = '0'.repeat(32);

/** Every operation that the service publishes below one of these prefixes. */
export async function operationsOf(api: Api, ...prefixes: string[]): Promise<Operation[]> {
  const { body } = await api.call('GET', '/openapi.json');
  const operations = Object.entries<Record<string, Answer['body']>>(body.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { requestBody }]) => ({
      method: method.toUpperCase(),
      path,
      url: path.replaceAll(/\{\w+\}/g, nobody),
      takes_body: requestBody !== undefined,
      media_type: requestBody && Object.keys(requestBody.content)[0],
    })),
  );
  const found = operations.filter(({ path }) => prefixes.some((prefix) => path === prefix || path.startsWith(prefix)));
  expect(found.length).toBeGreaterThan(0);
  return found;
}

/** Webhook registration, which needs the client's two headers only. */
export function isRegistration({ path }: Operation): boolean {
  return path === '/v1/webhook' || path.startsWith('/v1/webhook/');
}

/** By which a client learns what happened while its account's link is expired. */
export function answersWhileExpired(operation: Operation): boolean {
  const { path } = operation;
  return isRegistration(operation) || path.startsWith('/v1/webhook-events') || path.startsWith('/v1/jobs');
}

export const everyone = { client_id: null, client_secret: null, access_token: null };
