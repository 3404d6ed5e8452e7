import { setTimeout as wait } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';
import { type ApiResponse, EmrError, errorResponse } from '../errors.ts';
import type { Fault, FaultKind } from './faults.ts';

/** Whether the fault responds instead of the operation. */
export function preventsOperation(fault: Fault): boolean {
  return responses[fault.kind] !== undefined;
}

/** Applies faults that act before the operation. Returns true if the response is sent and the operation must not run. */
export async function applyFaultBefore(fault: Fault, reply: FastifyReply): Promise<boolean> {
  // Unreferenced, so that a long delay does not keep a closing process alive.
  if (fault.kind === 'delay') await wait(fault.delayMs ?? DELAY_MS_DEFAULT, undefined, { ref: false });
  const respond = responses[fault.kind];
  respond?.(reply, fault);
  return respond !== undefined;
}

/** Applies faults that act after the operation. Returns true if the response was dropped or cut off. */
export function applyFaultAfter(fault: Fault, response: ApiResponse, reply: FastifyReply): boolean {
  if (fault.kind === 'lose_answer') {
    reply.hijack();
    reply.raw.destroy();
    return true;
  }
  if (fault.kind === 'truncate') {
    sendTruncated(response, reply);
    return true;
  }
  return false;
}

const DELAY_MS_DEFAULT = 1000;

type Respond = (reply: FastifyReply, fault: Fault) => void;

const responses: Partial<Record<FaultKind, Respond>> = {
  error_500: (reply, fault) => sendError(reply, new EmrError('INTERNAL_ERROR', fault.reason ?? 'Internal error.')),
  error_429: (reply, fault) => {
    reply.header('retry-after', '1');
    sendError(reply, new EmrError('TOO_MANY_REQUESTS', fault.reason ?? 'Too many requests.'));
  },
  reset: (reply) => {
    reply.hijack();
    reply.raw.socket?.resetAndDestroy();
  },
  refuse: (reply, fault) => sendError(reply, new EmrError('REFUSED', fault.reason ?? 'Larkspur refused this write.')),
  refill_fails: (reply, fault) =>
    sendError(reply, new EmrError('REFUSED', fault.reason ?? 'The refill could not be added.')),
  html: (reply) => void reply.type('text/html; charset=utf-8').send(MAINTENANCE_PAGE),
  empty: (reply) => void reply.code(200).send(),
};

const MAINTENANCE_PAGE =
  '<!doctype html><html lang="en"><head><title>Larkspur</title></head><body><h1>Scheduled maintenance</h1></body></html>';

function sendError(reply: FastifyReply, error: EmrError): void {
  const { status, body } = errorResponse(error);
  reply.code(status).send(body);
}

/** Sends the full content length but only half of the body, then closes the connection. */
function sendTruncated(response: ApiResponse, reply: FastifyReply): void {
  const text = JSON.stringify(response.body) ?? '';
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  reply.hijack();
  reply.raw.writeHead(response.status, headers);
  reply.raw.write(text.slice(0, Math.floor(text.length / 2)), () => reply.raw.socket?.end());
}
