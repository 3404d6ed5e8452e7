import type { Context } from '../context.ts';
import { findLastRecord } from './auditRecords.ts';
import { openStamp } from './stamp.ts';
import { collectAnchors, verifyAudit } from './verifyAudit.ts';

type VerificationContext = Pick<Context, 'config' | 'db' | 'system_keys' | 'log' | 'metrics' | 'audit'>;

const entry = { client_id: null, actor_kind: 'system', actor: 'service', action: 'audit.verify' } as const;

/** Verifies the whole log if no process has done so within AUDIT_VERIFY_HOURS. The result is in the log itself. */
export async function verifyIfDue(ctx: VerificationContext): Promise<void> {
  const last = await findLastRecord(ctx.db.system, { actions: [entry.action], actor: entry.actor });
  // A record that someone forged or changed postpones nothing.
  const last_at = last && openStamp(ctx.system_keys).isGenuine(last) ? last.at.getTime() : 0;
  const due_at = last_at + ctx.config.audit_verify_hours * 3_600_000;
  if (Date.now() < due_at) return;
  const verdict = await verifyAudit(ctx, { anchors: await collectAnchors(ctx) });
  ctx.metrics.audit_intact.set({ check: 'chain' }, verdict.ok ? 1 : 0);
  const { checked, faults } = verdict;
  if (!verdict.ok)
    ctx.log.error({ reason: faults[0]?.what }, 'the audit log was tampered with: run chartwire audit verify');
  await ctx.audit.record({
    ...entry,
    outcome: verdict.ok ? 'ok' : 'failed',
    detail: { checked, ...(verdict.ok ? {} : { faults: faults.slice(0, 5) }) },
  });
}
