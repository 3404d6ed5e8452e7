import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { Context } from '../context.ts';
import { EmrError } from '../errors.ts';
import { clearFault, clearFaults, listFaults } from '../http/faults.ts';
import { listLedger } from '../http/receipts.ts';
import { createOneTimeLink } from '../screens/oneTimeLinks.ts';
import { resetPractice } from '../seed/resetPractice.ts';
import { isSameToken } from '../signin/credentials.ts';
import { clearFailedAttempts, listLockouts, lockUserName } from '../signin/lockouts.ts';
import { endAllSessions, forgetAllDevices } from '../signin/sessions.ts';
import { createFault, faultBody } from './createFault.ts';
import { serveRecordEdits } from './editRecords.ts';
import { serveStaffActions } from './staffActions.ts';

/** The control API for tests. Its fields are snake_case, like Chartwire's. Faults do not apply to it. */
export function serveControl(app: FastifyInstance, context: Context): void {
  const { sql } = context;

  app.addHook('onRequest', async (request) => {
    const token = request.headers['control-token'];
    if (typeof token === 'string' && isSameToken(token, context.control_token)) return;
    throw new EmrError('CONTROL_TOKEN', 'The control-token header is missing or invalid.');
  });

  // The body is optional.
  app.addHook('preValidation', async (request) => {
    request.body ??= {};
  });

  app.post<{ Body: Parameters<typeof createFault>[1] }>(
    '/control/faults',
    { schema: { body: faultBody } },
    async ({ body }, reply) => reply.code(201).send({ fault_id: await createFault(sql, body) }),
  );

  app.get('/control/faults', async () => ({
    faults: (await listFaults(sql)).map(({ faultId, operation, kind, timesLeft, delayMs, reason, field, value }) => ({
      fault_id: faultId,
      operation,
      kind,
      times: timesLeft,
      delay_ms: delayMs,
      reason,
      field,
      value,
    })),
  }));

  app.delete('/control/faults', async () => {
    await clearFaults(sql);
    return { faults: [] };
  });

  app.delete<{ Params: { faultId: string } }>(
    '/control/faults/:faultId',
    { schema: { params: Type.Object({ faultId: Type.String({ pattern: '^\\d{1,9}$' }) }) } },
    async ({ params }) => {
      await clearFault(sql, Number(params.faultId));
      return { fault_id: Number(params.faultId) };
    },
  );

  app.get('/control/lockouts', async () => ({
    lockouts: (await listLockouts(sql, context.now())).map(({ userName, lockedUntil }) => ({
      user_name: userName,
      locked_until: lockedUntil,
    })),
  }));

  app.post<{ Body: { user_name: string } }>(
    '/control/lockouts',
    { schema: { body: lockBody } },
    async ({ body }, reply) =>
      reply.code(201).send({ locked_until: await lockUserName(sql, body.user_name.toLowerCase(), context.now()) }),
  );

  app.delete<{ Params: { userName: string } }>('/control/lockouts/:userName', async ({ params }) => {
    await clearFailedAttempts(sql, params.userName.toLowerCase());
    return { unlocked: params.userName };
  });

  app.post<{ Body: { mode?: 'session' | 'link' } }>(
    '/control/sessions/expire',
    { schema: { body: expireBody } },
    async ({ body: { mode = 'link' } }) => {
      await endAllSessions(sql);
      if (mode === 'link') await forgetAllDevices(sql);
      return { mode };
    },
  );

  app.get('/control/ledger', async () => ({
    entries: (await listLedger(sql)).map(({ operation, marker, patientMrn, at, applied }) => ({
      operation,
      marker,
      patient_mrn: patientMrn,
      at,
      applied,
    })),
  }));

  app.post<{ Body: { external_refs?: string[]; mrn?: string } }>(
    '/control/one-time-links',
    { schema: { body: linkBody } },
    async ({ body: { external_refs = [], mrn } }, reply) =>
      reply.code(201).send({ path: await createOneTimeLink(context, { externalRefs: external_refs, mrn }) }),
  );

  app.post('/control/reset', async () => {
    await resetPractice(context);
    return { reset: true };
  });

  serveRecordEdits(app, context);
  serveStaffActions(app, context);
}

const lockBody = Type.Object(
  { user_name: Type.String({ minLength: 1, maxLength: 100 }) },
  { additionalProperties: false },
);
const linkBody = Type.Object(
  {
    external_refs: Type.Optional(Type.Array(Type.String({ maxLength: 500 }), { maxItems: 100 })),
    mrn: Type.Optional(Type.String({ maxLength: 200 })),
  },
  { additionalProperties: false },
);
const expireBody = Type.Object(
  { mode: Type.Optional(Type.Enum(['session', 'link'])) },
  { additionalProperties: false },
);
