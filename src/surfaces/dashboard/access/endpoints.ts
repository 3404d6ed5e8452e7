import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { parseId } from '../../../catalog/ids.ts';
import { type Endpoint, endpoint, WithHeaders } from '../../../http/endpoint.ts';
import { success } from '../../../model/fields.ts';
import type { Context } from '../../../product/context.ts';
import { readAccessReport, toCsv } from '../../../product/operators/accessReport.ts';
import {
  attestReview,
  discardReview,
  findReview,
  listReviews,
  type Review,
  startReview,
} from '../../../product/operators/accessReviews.ts';
import { access_row, attestation, review, review_row } from './schema.ts';

const declared = { surface: 'dashboard', auth: 'operator', role: 'owner' } as const;
const params = Type.Object({ id: Type.String() });

/** Who has access, and the reviews of it. */
export const access_endpoints: readonly Endpoint[] = [
  endpoint({
    ...declared,
    id: 'dashboard.access.get',
    method: 'GET',
    path: '/dashboard/api/access',
    summary: 'List operators, invitations and client secrets with their rights and last use',
    response: Type.Object({ success, access: Type.Array(access_row) }),
    handle: async ({ ctx }) => ({ success: true, access: await readAccessReport(ctx) }),
  }),
  endpoint({
    ...declared,
    id: 'dashboard.access.export',
    method: 'GET',
    path: '/dashboard/api/access.csv',
    summary: 'Export the access report as CSV',
    response: Type.String(),
    handle: async ({ ctx }) => csvFile('access.csv', toCsv(await readAccessReport(ctx))),
  }),
  endpoint({
    ...declared,
    id: 'dashboard.access-reviews.list',
    method: 'GET',
    path: '/dashboard/api/access-reviews',
    summary: 'List the access reviews, newest first',
    response: Type.Object({ success, reviews: Type.Array(review_row) }),
    handle: async ({ ctx }) => ({ success: true, reviews: await listReviews(ctx) }),
  }),
  endpoint({
    ...declared,
    id: 'dashboard.access-reviews.create',
    method: 'POST',
    path: '/dashboard/api/access-reviews',
    summary: 'Start an access review of the report as it is now',
    body: Type.Object({}),
    response: Type.Object({ success, id: Type.String() }),
    handle: async ({ ctx, operator, auditSubject, recordInTransaction }) => ({
      success: true,
      id: await startReview(ctx, operator.email, (tx, subject) => {
        auditSubject({ subject });
        return recordInTransaction(tx);
      }),
    }),
  }),
  endpoint({
    ...declared,
    id: 'dashboard.access-reviews.get',
    method: 'GET',
    path: '/dashboard/api/access-reviews/{id}',
    summary: 'Retrieve an access review with its rows and decisions',
    params,
    response: Type.Object({ success, review }),
    errors: ['record_not_found'],
    handle: async ({ ctx, params }) => ({ success: true, review: await requireReview(ctx, params.id) }),
  }),
  endpoint({
    ...declared,
    id: 'dashboard.access-reviews.export',
    method: 'GET',
    path: '/dashboard/api/access-reviews/{id}/rows.csv',
    summary: 'Export the rows and decisions of an access review as CSV',
    params,
    response: Type.String(),
    errors: ['record_not_found'],
    handle: async ({ ctx, params }) => {
      const { rows, decisions, started_at } = await requireReview(ctx, params.id);
      return csvFile(`access-review-${started_at.slice(0, 10)}.csv`, toCsv(rows, decisions ?? {}));
    },
  }),
  endpoint({
    ...declared,
    id: 'dashboard.access-reviews.attest',
    fresh_sign_in: true,
    method: 'POST',
    path: '/dashboard/api/access-reviews/{id}/attest',
    summary: 'Attest an access review: every row is confirmed or to be removed',
    params,
    body: attestation,
    response: Type.Object({ success, hash: Type.String() }),
    errors: ['record_not_found', 'review_attested', 'invalid_field'],
    handle: async ({ ctx, params, operator, body, auditSubject, recordInTransaction }) => {
      const id = parseId(params.id);
      const { decisions: decided, note = '' } = body;
      const hash = await ctx.db.system.begin(async (tx) => {
        const attested = id && (await attestReview(tx, id, { attested_by: operator.email, note, decided }));
        if (!attested) throw notFound(params.id);
        auditSubject({ detail: attested });
        await recordInTransaction(tx);
        return attested.hash;
      });
      return { success: true, hash };
    },
  }),
  endpoint({
    ...declared,
    id: 'dashboard.access-reviews.discard',
    method: 'DELETE',
    path: '/dashboard/api/access-reviews/{id}',
    summary: 'Discard an access review that was not attested',
    params,
    response: Type.Object({ success }),
    errors: ['record_not_found', 'review_attested'],
    handle: async ({ ctx, params, recordInTransaction }) => {
      const { id, attested_at } = await requireReview(ctx, params.id);
      if (attested_at !== null) throw apiError('review_attested');
      await ctx.db.system.begin(async (tx) => {
        // Attested or discarded by someone else meanwhile.
        if (!(await discardReview(tx, id))) throw notFound(params.id);
        await recordInTransaction(tx);
      });
      return { success: true };
    },
  }),
];

async function requireReview(ctx: Pick<Context, 'db'>, text: string): Promise<Review> {
  const id = parseId(text);
  const stored = id && (await findReview(ctx, id));
  if (!stored) throw notFound(text);
  return stored;
}

function notFound(id: string): Error {
  return apiError('record_not_found', { noun: 'Access review', id });
}

function csvFile(name: string, text: string): WithHeaders {
  return new WithHeaders(text, {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="${name}"`,
  });
}
