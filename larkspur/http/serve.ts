import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Context } from '../context.ts';
import type { Query } from '../database/open.ts';
import { type ApiResponse, EmrError, toErrorResponse } from '../errors.ts';
import { requireSession, type Session } from '../signin/sessions.ts';
import { applyFaultAfter, applyFaultBefore, preventsOperation } from './faultResponses.ts';
import { consumeFault } from './faults.ts';
import type { Call, Operation, WriteOperation } from './operation.ts';
import { performWrite, validateWrite } from './performWrite.ts';
import { recordNotApplied } from './receipts.ts';

/** Registers a route for each operation. Every request is checked for a session, validated, and subject to faults. */
export function serveOperations(app: FastifyInstance, context: Context, operations: Operation[]): void {
  const sessions = new WeakMap<FastifyRequest, Session>();
  for (const operation of operations) {
    app.route({
      method: operation.method,
      url: operation.path,
      ...(operation.body_bytes_max ? { bodyLimit: operation.body_bytes_max } : {}),
      onRequest: async (request) => {
        if (operation.public) return;
        sessions.set(request, await requireSession(context, bearerToken(request)));
      },
      handler: async (request, reply) => {
        const call: Call<unknown, unknown, unknown> = {
          context,
          sql: context.sql,
          params: request.params,
          body: request.body,
          query: request.query,
          session: sessions.get(request) ?? noSession,
        };
        return handleCall(operation, call, request, reply);
      },
    });
  }
}

function bearerToken(request: FastifyRequest): string {
  return /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
}

const noSession: Session = { tokenHash: '', staffId: '', displayName: '', role: '', faultsSet: true };

async function handleCall(
  operation: Operation,
  call: Call<unknown, unknown, unknown>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { context } = call;
  const validated = operation.writes && (call.query as { validateOnly?: string }).validateOnly === 'true';
  // What is only validated is no write, and not in the ledger.
  const received = operation.writes && !validated ? receivedWrite(operation, call) : undefined;
  const invalid = validationError(operation, request);
  if (invalid !== undefined) {
    if (received) await recordNotApplied(context.sql, received);
    throw new EmrError('BAD_REQUEST', invalid);
  }
  const fault = call.session.faultsSet ? await consumeFault(context.sql, operation, call.body) : undefined;
  // Before the response, because the client may read the ledger as soon as it has received it.
  if (fault && received && preventsOperation(fault)) await recordNotApplied(context.sql, received);
  if (fault && (await applyFaultBefore(fault, reply))) return reply;
  const response = await toResponse(context, operation.name, async () => {
    if (operation.writes && received) {
      return { status: 201, body: await performWrite(operation, call, received, fault) };
    }
    if (operation.writes && validated) return { status: 200, body: await validateWrite(operation, call, fault) };
    return { status: 200, body: operation.writes ? undefined : await operation.handle(call) };
  });
  if (fault && applyFaultAfter(fault, response, reply)) return reply;
  return reply.code(response.status).send(response.body);
}

function receivedWrite(operation: WriteOperation, { params, body, context }: Call<unknown, unknown, unknown>) {
  return {
    operation: operation.name,
    marker: readExternalRef(body),
    at: context.now(),
    findMrn: (sql: Query) => operation.patientMrn(sql, params, body),
  };
}

function readExternalRef(body: unknown): string | null {
  if (typeof body !== 'object' || body === null || !('externalRef' in body)) return null;
  return typeof body.externalRef === 'string' ? body.externalRef : null;
}

/** Compiles each schema on first use: compiling all of them took half of the start time. */
function validationError({ body, query }: Operation, request: FastifyRequest): string | undefined {
  const parts = [
    { part: 'body', schema: body, value: request.body },
    { part: 'querystring', schema: query, value: request.query },
  ];
  for (const { part, schema, value } of parts) {
    if (!schema) continue;
    const validate = request.getValidationFunction(schema) ?? request.compileValidationSchema(schema);
    const [error] = validate(value) ? [] : (validate.errors ?? []);
    if (error) return `${part}${error.instancePath} ${error.message}`;
  }
  return undefined;
}

/** Converts errors to responses here, so that faults can drop or truncate error responses too. */
async function toResponse(context: Context, name: string, work: () => Promise<ApiResponse>): Promise<ApiResponse> {
  try {
    return await work();
  } catch (error) {
    return toErrorResponse(error, (reason) => context.log(`larkspur: ${name} failed: ${reason}`));
  }
}
