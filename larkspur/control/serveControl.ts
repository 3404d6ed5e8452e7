import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { Context } from '../context.ts';
import { EmrError } from '../errors.ts';
import { clearFault, clearFaults, listFaults } from '../machine/faults.ts';
import { listLedger } from '../machine/ledger.ts';
import { sameToken } from '../secrets.ts';
import { resetPractice } from '../seed/resetPractice.ts';
import { forgetAllDevices } from '../signin/devices.ts';
import { clearTries, listLocked, lockName } from '../signin/lockouts.ts';
import { endAllSessions } from '../signin/sessions.ts';
import { serveRecordEdits } from './editRecords.ts';
import { faultBody, setFault } from './setFault.ts';

/** The tester's side door. Its own words are snake_case, as Chartwire's are; faults never strike here. */
export function serveControl(app: FastifyInstance, context: Context): void {
  const { sql } = context;

  app.addHook('onRequest', async (request) => {
    const token = request.headers['control-token'];
    if (typeof token === 'string' && sameToken(token, context.control_token)) return;
    throw new EmrError('CONTROL_TOKEN', 'The header control-token is missing or wrong.');
  });

  // A command without a body is a command without options.
  app.addHook('preValidation', async (request) => {
    request.body ??= {};
  });

  app.post<{ Body: Parameters<typeof setFault>[1] }>(
    '/control/faults',
    { schema: { body: faultBody } },
    async ({ body }, reply) => reply.code(201).send({ fault_id: await setFault(sql, body) }),
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
    lockouts: (await listLocked(sql, context.now())).map(({ userName, lockedUntil }) => ({
      user_name: userName,
      locked_until: lockedUntil,
    })),
  }));

  app.post<{ Body: { user_name: string } }>(
    '/control/lockouts',
    { schema: { body: lockBody } },
    async ({ body }, reply) =>
      reply.code(201).send({ locked_until: await lockName(sql, body.user_name.toLowerCase(), context.now()) }),
  );

  app.delete<{ Params: { userName: string } }>('/control/lockouts/:userName', async ({ params }) => {
    await clearTries(sql, params.userName.toLowerCase());
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

  app.post('/control/reset', async () => {
    await resetPractice(context);
    return { reset: true };
  });

  serveRecordEdits(app, context);
}

const lockBody = Type.Object(
  { user_name: Type.String({ minLength: 1, maxLength: 100 }) },
  { additionalProperties: false },
);
const expireBody = Type.Object(
  { mode: Type.Optional(Type.Enum(['session', 'link'])) },
  { additionalProperties: false },
);
