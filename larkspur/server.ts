import Fastify, { type FastifyInstance } from 'fastify';
import { operations } from './api/operations.ts';
import type { Context } from './context.ts';
import { serveControl } from './control/serveControl.ts';
import { answerTo, EmrError } from './errors.ts';
import { serveOperations } from './machine/serve.ts';
import { serveScreens } from './screens/serveScreens.ts';

/** The three doors of Larkspur: the EMR API, the control API and the clinic screens. */
export function buildServer(context: Context): FastifyInstance {
  const app = Fastify({
    logger: false,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: 500 },
    // Ajv would otherwise drop unknown fields and turn "1" into 1: an EMR must say what it does not understand.
    ajv: { customOptions: { removeAdditional: false, coerceTypes: false } },
  });
  acceptEmptyJson(app);
  app.setErrorHandler((error, _request, reply) => {
    const answer = answerTo(error, (reason) => context.log(`larkspur: unforeseen failure: ${reason}`));
    return reply.code(answer.status).send(answer.body);
  });
  app.setNotFoundHandler(() => {
    throw new EmrError('NOT_FOUND', 'There is nothing at this address.');
  });
  serveOperations(app, context, operations);
  app.register(async (control) => serveControl(control, context));
  app.register(async (screens) => serveScreens(screens, context));
  return app;
}

/** Many clients announce JSON and send nothing (logout, reset); that is an empty object, not a mistake. */
function acceptEmptyJson(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, {});
    else parse(request, String(body), done);
  });
}
