import { Type } from 'typebox';
import type { AnyRequest, Endpoint } from '../../http/endpoint.ts';
import { type DryRun, dry_run } from '../../model/dryRun.ts';
import { dryRunJob, type PlannedJobs, rollingBack } from '../../product/writes/dryRun.ts';

/**
 * The endpoint of a write with the query parameter `dry_run`. The request is handled as usual, in transactions that are
 * rolled back, so that every check is the same; then the job that it would have queued is run without writing.
 */
export function withDryRun(endpoint: Endpoint): Endpoint {
  const handle = async (request: AnyRequest): Promise<unknown> => {
    if (request.query.dry_run !== true) return endpoint.handle(request);
    const { ctx, files, account } = request;
    const planned: PlannedJobs = [];
    const dry_ctx = rollingBack(ctx, planned);
    await endpoint.handle({
      ...request,
      ctx: dry_ctx,
      idempotency: undefined,
      auditStatement: undefined,
      recordInTransaction: async () => {},
      inTransaction: (work) => dry_ctx.db.tenant(account?.client_id ?? '', work),
    });
    const [job] = planned;
    return job ? dryRunJob(ctx, job, files) : describeMerged(endpoint);
  };
  const query = Type.Object({ ...endpoint.query?.properties, dry_run });
  return { ...endpoint, query, errors: [...(endpoint.errors ?? []), 'quota_exceeded'], handle };
}

/** A change that is merged into a request that waits: only its own job asks the EMR. */
function describeMerged({ events = [] }: Endpoint): DryRun {
  const resource = events[0]?.split('.')[0] ?? 'record';
  return { success: true, dry_run: true, emr_checked: false, would: [{ action: 'update', resource, reasons: [] }] };
}
