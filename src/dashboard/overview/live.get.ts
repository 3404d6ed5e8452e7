import { Type } from 'typebox';
import { findSession } from '../../clients/operatorSessions.ts';
import { readSessionCookie } from '../../http/authenticateOperator.ts';
import { type Endpoint, endpoint, WithHeaders } from '../../http/endpoint.ts';
import type { Live } from './live.ts';

export const liveGet = (live: Live): Endpoint =>
  endpoint({
    id: 'dashboard.live.get',
    method: 'GET',
    path: '/dashboard/api/live',
    auth: 'operator',
    // A browser opens the stream anew whenever it is cut, and cannot mark it.
    background: true,
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
