import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { installation_folder } from '../../catalog/installation.ts';
import { routeNotFound } from '../../http/sendError.ts';

const folder = join(installation_folder, 'dist/packages');

/**
 * Serves the client libraries of this version, for npm and pip, which need no registry then: `/sdk/<file>`, and the npm
 * package as `/sdk.tgz`. A wheel is found by its name only.
 */
export function serveClientLibraries(pages: FastifyInstance): void {
  // Read when it is first requested: few installations are asked for them.
  const read = new Map<string, { content: Buffer; etag: string }>();
  const send = (request: FastifyRequest, reply: FastifyReply, isWanted: (name: string) => boolean) => {
    const name = existsSync(folder) ? readdirSync(folder).find(isWanted) : undefined;
    if (name === undefined) throw routeNotFound(request);
    const library = read.get(name) ?? readLibrary(name);
    read.set(name, library);
    const { content, etag } = library;
    // A build of the same version can have another content.
    reply.headers({ etag, 'cache-control': 'no-cache' });
    if (request.headers['if-none-match'] === etag) return reply.status(304).send();
    return reply.type(name.endsWith('.tgz') ? 'application/gzip' : 'application/zip').send(content);
  };
  pages.get('/sdk.tgz', async (request, reply) => send(request, reply, (name) => name.endsWith('.tgz')));
  pages.get<{ Params: { file: string } }>('/sdk/:file', async (request, reply) =>
    send(request, reply, (name) => name === request.params.file),
  );
}

function readLibrary(name: string): { content: Buffer; etag: string } {
  const content = readFileSync(join(folder, name));
  return { content, etag: `"${createHash('sha256').update(content).digest('base64url')}"` };
}
