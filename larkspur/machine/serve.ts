import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Context } from '../context.ts';
import { type Answer, answerTo, EmrError } from '../errors.ts';
import { openSession, type Session } from '../signin/sessions.ts';
import { breakAfter, breakBefore } from './breakAnswer.ts';
import { takeFault } from './faults.ts';
import { addLedgerEntry, type Received } from './ledger.ts';
import type { Call, Operation } from './operation.ts';
import { performWrite } from './performWrite.ts';

/** The one machine behind every EMR operation: session, shape, fault, work, answer. */
export function serveOperations(app: FastifyInstance, context: Context, operations: Operation[]): void {
  const sessions = new WeakMap<FastifyRequest, Session>();
  for (const operation of operations) {
    app.route({
      method: operation.method,
      url: operation.path,
      schema: {
        ...(operation.body ? { body: operation.body } : {}),
        ...(operation.search ? { querystring: operation.search } : {}),
      },
      attachValidation: true,
      ...(operation.body_bytes_max ? { bodyLimit: operation.body_bytes_max } : {}),
      onRequest: async (request) => {
        if (operation.open) return;
        sessions.set(request, await openSession(context, bearer(request)));
      },
      handler: async (request, reply) => {
        const call: Call<unknown, unknown, unknown> = {
          context,
          sql: context.sql,
          params: request.params,
          body: request.body,
          search: request.query,
          session: sessions.get(request) ?? nobody,
        };
        return answerCall(operation, call, request, reply);
      },
    });
  }
}

async function answerCall(
  operation: Operation,
  call: Call<unknown, unknown, unknown>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { context } = call;
  const received = operation.writes ? await receive(operation, call) : undefined;
  if (request.validationError) {
    if (received) await addLedgerEntry(context.sql, received, false);
    throw new EmrError('BAD_REQUEST', request.validationError.message);
  }
  const fault = await takeFault(context.sql, operation, call.body);
  if (fault && (await breakBefore(fault, reply))) {
    if (received) await addLedgerEntry(context.sql, received, false);
    return reply;
  }
  const answer = await settle(context, operation.name, async () => {
    if (operation.writes && received) {
      return { status: 201, body: await performWrite(operation, call, received, fault) };
    }
    return { status: 200, body: operation.writes ? undefined : await operation.handle(call) };
  });
  if (fault && breakAfter(fault, answer, reply)) return reply;
  return reply.code(answer.status).send(answer.body);
}

async function receive(
  operation: Operation & { writes: true },
  call: Call<unknown, unknown, unknown>,
): Promise<Received> {
  const { sql, params, body, context } = call;
  return {
    operation: operation.name,
    marker: externalRefOf(body),
    patientMrn: (await operation.patientMrn(sql, params, body)) ?? null,
    at: context.now(),
  };
}

function externalRefOf(body: unknown): string | null {
  if (typeof body !== 'object' || body === null || !('externalRef' in body)) return null;
  return typeof body.externalRef === 'string' ? body.externalRef : null;
}

/** Failures become answers here, so that a fault can lose or cut a refusal as well as a success. */
async function settle(context: Context, name: string, work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    return answerTo(error, (reason) => context.log(`larkspur: ${name} failed: ${reason}`));
  }
}

function bearer(request: FastifyRequest): string {
  return /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
}

const nobody: Session = { tokenHash: '', staffId: '', displayName: '', role: '' };
