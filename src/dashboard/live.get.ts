import { Type } from 'typebox';
import { readSessionCookie } from '../api/authenticateOperator.ts';
import { type Endpoint, endpoint, WithHeaders } from '../api/endpoint.ts';
import { findSession } from '../clients/operatorSessions.ts';
import type { Live } from './live.ts';

export const liveGet = (live: Live): Endpoint =>
  endpoint({
    id: 'dashboard.live.get',
    method: 'GET',
    path: '/dashboard/api/live',
    auth: 'operator',
    // It tells that something has changed, not what.
    audited: false,
    summary: 'What has changed, as it changes',
    response: Type.String(),
    handle: async ({ ctx, headers }) => {
      const token = readSessionCookie(headers) ?? '';
      const stream = live.open(async () => (await findSession(ctx, token, { active: false })) !== undefined);
      return new WithHeaders(stream, {
        'content-type': 'text/event-stream',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
      });
    },
  });
