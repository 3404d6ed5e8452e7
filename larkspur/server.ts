import Fastify, { type FastifyInstance } from 'fastify';
import { operations } from './api/operations.ts';
import type { Context } from './context.ts';
import { serveControl } from './control/serveControl.ts';
import { EmrError, toErrorResponse } from './errors.ts';
import { serveOperations } from './http/serve.ts';
import { serveScreens } from './screens/serveScreens.ts';

/** Builds the HTTP server with the EMR API, the control API and the screens. */
export function buildServer(context: Context): FastifyInstance {
  const app = Fastify({
    logger: false,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: 500 },
    // By default Ajv drops unknown fields and converts "1" to 1. An EMR reports such input as an error.
    // Without `validateSchema`, which compiles the meta-schema first (36 ms), it still rejects wrong keywords and types.
    ajv: { customOptions: { removeAdditional: false, coerceTypes: false, validateSchema: false } },
  });
  acceptEmptyJson(app);
  app.setErrorHandler((error, _request, reply) => {
    const response = toErrorResponse(error, (name) => context.log(`larkspur: unexpected error: ${name}`));
    return reply.code(response.status).send(response.body);
  });
  app.setNotFoundHandler(() => {
    throw new EmrError('NOT_FOUND', 'No such path.');
  });
  serveOperations(app, context, operations);
  app.register(async (control) => serveControl(control, context));
  app.register(async (screens) => serveScreens(screens, context));
  return app;
}

/** Many clients send the JSON content type with an empty body, for example on logout. Treat it as an empty object. */
function acceptEmptyJson(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, {});
    else parse(request, String(body), done);
  });
}
