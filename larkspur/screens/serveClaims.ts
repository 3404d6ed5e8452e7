import type { FastifyInstance } from 'fastify';
import { claims, listClaimStatuses, searchClaims } from '../charts/claims.ts';
import type { Context } from '../context.ts';
import { getRecord } from '../machine/recordKind.ts';
import { claimPage } from './claimPage.ts';
import { claimsPage } from './claimsPage.ts';
import { pageNumber } from './parts.ts';
import { frameFor, sendPage, visitorOf } from './visitor.ts';

const PAGE_SIZE = 25;

export function serveClaims(app: FastifyInstance, context: Context): void {
  const { sql } = context;

  app.get<{ Querystring: { q?: string; status?: string; page?: string } }>('/claims', async (request, reply) => {
    const visitor = await visitorOf(context, request);
    const words = String(request.query.q ?? '').slice(0, 100);
    const status = String(request.query.status ?? '').slice(0, 20);
    const list = await searchClaims(sql, words, status, { page: pageNumber(request.query.page), pageSize: PAGE_SIZE });
    const statuses = await listClaimStatuses(sql);
    return sendPage(reply, claimsPage(await frameFor(context, visitor), { words, status, statuses, ...list }));
  });

  app.get<{ Params: { claimId: string } }>('/claims/:claimId', async (request, reply) => {
    const visitor = await visitorOf(context, request);
    const claim = await getRecord(sql, claims, request.params.claimId);
    return sendPage(reply, claimPage(await frameFor(context, visitor), claim));
  });
}
