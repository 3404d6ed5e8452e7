import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { Context } from '../context.ts';
import { EmrError } from '../errors.ts';
import { clearFaults, listFaults } from '../machine/faults.ts';
import { listLedger } from '../machine/ledger.ts';
import { sameToken } from '../secrets.ts';
import { resetPractice } from '../seed/resetPractice.ts';
import { forgetAllDevices } from '../signin/devices.ts';
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

const expireBody = Type.Object(
  { mode: Type.Optional(Type.Enum(['session', 'link'])) },
  { additionalProperties: false },
);
