import type { FastifyInstance } from 'fastify';
import type { Context } from '../context.ts';

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
  // EMRs fetch it to verify our signatures.
  server.get('/.well-known/jwks.json', async (_request, reply) =>
    reply.header('cache-control', 'public, max-age=3600').send(await ctx.signing_keys.published()),
  );
}
