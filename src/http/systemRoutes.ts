import type { FastifyInstance } from 'fastify';
import { hasEmrApp } from '../product/accounts/emrApps.ts';
import { apiError } from '../catalog/errors.ts';
import { parseId } from '../catalog/ids.ts';
import type { Context } from '../product/context.ts';
import { sandbox_label } from '../product/link/registrations.ts';
import { type ClientKeys, clientKeys } from '../platform/security/signingKeys.ts';

/**
 * Routes that are not declared as endpoints, because they serve tools rather than clients and have their own formats
 * (the OpenAPI document, a JWK set).
 */
export function addSystemRoutes(ctx: Context, server: FastifyInstance, openapi_document: () => object): void {
  let document: Buffer | undefined;
  server.get('/openapi.json', async (_request, reply) => {
    document ??= Buffer.from(JSON.stringify(openapi_document()));
    return reply.type('application/json; charset=utf-8').send(document);
  });
  // EMRs fetch it to verify the signatures of a client.
  server.get<{ Params: { client_id: string; label: string } }>(
    '/.well-known/jwks/:client_id/:label.json',
    async (request, reply) => {
      const keys = await findKeySet(ctx, request.params);
      if (!keys) throw apiError('route_not_found', { method: 'GET', path: '/.well-known/jwks' });
      return reply.header('cache-control', 'public, max-age=3600').send(await keys.published());
    },
  );
}

/** The keys of a client, by the label of one of its EMR apps. */
async function findKeySet(
  ctx: Context,
  { client_id: public_id, label }: { client_id: string; label: string },
): Promise<ClientKeys | undefined> {
  const [client] = await ctx.db.system<{ id: string }[]>`SELECT id FROM clients WHERE public_id = ${public_id}`;
  if (!client) return undefined;
  const app_id = parseId(label);
  const known =
    (ctx.config.sandbox && label === sandbox_label) || (app_id && (await hasEmrApp(ctx, client.id, app_id)));
  return known ? clientKeys(ctx, client.id) : undefined;
}
