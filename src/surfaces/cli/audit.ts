import { open } from 'node:fs/promises';
import { resetAnchor } from '../../product/audit/anchors.ts';
import { collectAnchors, verifyAudit } from '../../product/audit/verification.ts';
import { type ExportFault, verifyExport } from '../../product/audit/exports.ts';
import { StartFailure } from '../../catalog/errors.ts';
import type { Config } from '../../catalog/settings/config.ts';
import type { Context } from '../../product/context.ts';
import type { AuditFault } from '../../model/dashboard/audit.ts';
import { type JsonOption, printResult } from './output.ts';
import { command_line, withAudit } from './withAudit.ts';

const fault_texts: Record<AuditFault['what'], string> = {
  changed: 'was changed',
  not_linked: 'does not follow the previous record',
  missing: 'is missing',
  beyond_head: 'is after the end of the chain',
  head_broken: 'The end of the chain was changed or removed',
  rolled_back: 'was anchored, but the log ends before it: records were removed, or an older copy was restored',
  anchor_mismatch: 'is not the record that was anchored at this position',
  anchor_changed: 'An anchor was changed, or belongs to another database',
  trigger: 'can drop or change records before they are stored: remove it',
};

const export_fault_texts: Record<ExportFault['what'], string> = {
  changed: fault_texts.changed,
  not_linked: fault_texts.not_linked,
  unreadable: 'is not a line of an export',
};

/** Verifies the audit log and its anchors, and prints what does not match. Exit code 1 if anything does not. */
export async function verifyAuditCommand(
  config: Config,
  files: readonly string[],
  output: JsonOption = {},
): Promise<void> {
  const verdict = await withAudit(config, async (db, audit, { system_keys }) => {
    const anchors = await collectAnchors({ config, system_keys }, files);
    const found = await verifyAudit({ db, system_keys }, { anchors });
    const outcome = found.ok ? 'ok' : 'failed';
    const detail = { checked: found.checked, ...(found.ok ? {} : { faults: found.faults.slice(0, 5) }) };
    await audit.record({ client_id: null, ...command_line, action: 'audit.verify', outcome, detail });
    return { ...found, anchors: anchors.anchors.length };
  });
  const { ok, checked, unsealed, anchors } = verdict;
  const lines = [
    `Records: ${checked} (${unsealed} more are not in the chain yet). Anchors: ${anchors}.`,
    ...verdict.faults.map(describe),
    ok ? 'The audit log is unchanged, in order and complete.' : 'The audit log was tampered with.',
  ];
  const faults = verdict.faults.map(({ position, id, what }) => ({
    ...{ position, what },
    ...(what === 'trigger' && { name: id }),
    ...(what === 'missing' && { id }),
  }));
  printResult(output, { ok, checked, unsealed, anchors, faults }, `${lines.join('\n')}\n`);
  if (!ok) process.exitCode = 1;
}

/** Verifies a file of `audit export --format jsonl`, with the keys of this installation. This is recorded too. */
export async function verifyExportCommand(config: Config, file: string, output: JsonOption = {}): Promise<void> {
  const lines = await open(file).catch((cause: unknown) => {
    throw new StartFailure(`--export: cannot read the file ${file}.`, { cause });
  });
  const { ok, checked, unsealed, gaps, faults } = await withAudit(config, async (_db, audit, { system_keys }) => {
    const found = await verifyExport({ system_keys }, lines.createReadStream());
    const outcome = found.ok ? 'ok' : 'failed';
    const detail = { export: true, checked: found.checked };
    await audit.record({ client_id: null, ...command_line, action: 'audit.verify', outcome, detail });
    return found;
  }).finally(() => lines.close());
  const text = [
    `Records: ${checked} (${unsealed} without a position in the chain). Gaps: ${gaps}.`,
    ...faults.map(({ position, what }) => `Record ${position ?? 'without position'} ${export_fault_texts[what]}`),
    ok ? 'The records are unchanged.' : 'The export was changed, or belongs to another installation.',
  ];
  const found = faults.map(({ position, what }) => ({ position, what }));
  printResult(output, { ok, checked, unsealed, gaps, faults: found }, `${text.join('\n')}\n`);
  if (!ok) process.exitCode = 1;
}

/** Accepts the audit log as it is, after a restore from a backup. This is recorded. */
export async function reanchorAuditCommand(config: Config, output: JsonOption = {}): Promise<void> {
  const { from, to } = await withAudit(config, (db, audit, { system_keys }) =>
    reanchor({ config, db, audit, system_keys }, 'command'),
  );
  printResult(
    output,
    { from, to },
    `The audit log is accepted up to record ${to}. It was anchored at ${from ?? 'no record'} before.\n`,
  );
}

/** Anchors the audit log at its present end, and records why. */
export async function reanchor(
  ctx: Pick<Context, 'config' | 'db' | 'audit' | 'system_keys'>,
  reason: 'command' | 'restore',
): Promise<{ from: number | null; to: number }> {
  const moved = await resetAnchor(ctx).catch((cause: unknown) => {
    throw new StartFailure('The audit log has no valid end. Restore the tables audit_records and audit_head.', {
      cause,
    });
  });
  const detail = { ...moved, reason };
  await ctx.audit.record({ client_id: null, ...command_line, action: 'audit.reanchor', outcome: 'accepted', detail });
  return moved;
}

function describe({ position, id, what }: AuditFault): string {
  if (what === 'trigger') return `The ${id} ${fault_texts[what]}`;
  if (what === 'head_broken' || what === 'anchor_changed') return fault_texts[what];
  // A record that is missing is known by its id, from the records after it.
  const named = what === 'missing' && id !== null;
  if (position === null) return `${named ? `The new record ${id}` : 'A new record'} ${fault_texts[what]}`;
  return `Record ${position}${named ? ` (${id})` : ''} ${fault_texts[what]}`;
}
