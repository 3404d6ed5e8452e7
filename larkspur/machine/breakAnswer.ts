import { setTimeout as wait } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';
import { type Answer, EmrError, failureAnswer } from '../errors.ts';
import type { Fault, FaultKind } from './faults.ts';

/** Faults that strike before anything is applied. True: the answer is given (or the line cut) and no work may follow. */
export async function breakBefore(fault: Fault, reply: FastifyReply): Promise<boolean> {
  // Unreferenced, so that a long delay does not hold up a process that is closing.
  if (fault.kind === 'delay') await wait(fault.delayMs ?? DELAY_MS_DEFAULT, undefined, { ref: false });
  const strike = before[fault.kind];
  strike?.(reply, fault);
  return strike !== undefined;
}

/** Faults that strike when the work is done. True: the caller gets no whole answer. */
export function breakAfter(fault: Fault, answer: Answer, reply: FastifyReply): boolean {
  if (fault.kind === 'lose_answer') {
    reply.hijack();
    reply.raw.destroy();
    return true;
  }
  if (fault.kind === 'truncate') {
    cut(answer, reply);
    return true;
  }
  return false;
}

const DELAY_MS_DEFAULT = 1000;

type Strike = (reply: FastifyReply, fault: Fault) => void;

const before: Partial<Record<FaultKind, Strike>> = {
  error_500: (reply, fault) => fail(reply, new EmrError('INTERNAL_ERROR', fault.reason ?? 'Something went wrong.')),
  error_429: (reply, fault) => {
    reply.header('retry-after', '1');
    fail(reply, new EmrError('TOO_MANY_REQUESTS', fault.reason ?? 'Too many requests.'));
  },
  reset: (reply) => {
    reply.hijack();
    reply.raw.socket?.resetAndDestroy();
  },
  refuse: (reply, fault) => fail(reply, new EmrError('REFUSED', fault.reason ?? 'Larkspur refused this write.')),
  refill_fails: (reply, fault) =>
    fail(reply, new EmrError('REFUSED', fault.reason ?? 'The refill could not be added.')),
  html: (reply) => void reply.type('text/html; charset=utf-8').send(MAINTENANCE_PAGE),
  empty: (reply) => void reply.code(200).send(),
};

const MAINTENANCE_PAGE =
  '<!doctype html><html lang="en"><head><title>Larkspur</title></head><body><h1>Scheduled maintenance</h1></body></html>';

function fail(reply: FastifyReply, error: EmrError): void {
  const { status, body } = failureAnswer(error);
  reply.code(status).send(body);
}

/** Promises the whole length, sends half of it and hangs up. */
function cut(answer: Answer, reply: FastifyReply): void {
  const text = JSON.stringify(answer.body) ?? '';
  reply.hijack();
  reply.raw.writeHead(answer.status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  reply.raw.write(text.slice(0, Math.floor(text.length / 2)), () => reply.raw.socket?.end());
}
