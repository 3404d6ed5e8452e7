import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { Context } from '../context.ts';
import type { AuditFault } from '../../model/dashboard/audit.ts';
import { type Head, linkOf } from './auditHead.ts';
import type { ExportLine } from './exportChain.ts';
import { openStamp } from './stamp.ts';
import { faults_max } from './verifyAudit.ts';

/** `gaps` counts the records whose predecessor is not on the line before, as in the export of one client. */
export type ExportVerdict = { ok: boolean; checked: number; unsealed: number; gaps: number; faults: ExportFault[] };
export type ExportFault = Omit<AuditFault, 'what'> & { what: 'changed' | 'not_linked' | 'unreadable' };

/**
 * Recomputes the MAC of every line of a JSON export, and the link of every record whose predecessor is on the previous
 * line. Needs the keys of the installation, but not its audit log.
 */
export async function verifyExport(ctx: Pick<Context, 'system_keys'>, lines: Readable): Promise<ExportVerdict> {
  const { isGenuine } = openStamp(ctx.system_keys);
  const key = ctx.system_keys.key('audit.chain');
  const faults: ExportFault[] = [];
  let [checked, unsealed, gaps, found] = [0, 0, 0, 0];
  const fault = (what: ExportFault['what'], position: number | null, id: string | null) => {
    found += 1;
    if (faults.length < faults_max) faults.push({ position, id, what });
  };
  let before: Head = { position: 0, chain: Buffer.alloc(0) };
  for await (const text of createInterface({ input: lines, crlfDelay: Number.POSITIVE_INFINITY })) {
    checked += 1;
    const row = readLine(text);
    if (!row) {
      fault('unreadable', null, null);
      continue;
    }
    const { position, id, chain } = row;
    if (!isGenuine(row)) fault('changed', position, id);
    if (position === null) {
      unsealed += 1;
      continue;
    }
    if (position <= 0 || chain === null) {
      fault('not_linked', position, id);
      continue;
    }
    if (position !== before.position + 1) gaps += 1;
    else if (!chain.equals(linkOf(key, before, row.mac).chain)) fault('not_linked', position, id);
    before = { position, chain };
  }
  return { ok: found === 0, checked, unsealed, gaps, faults };
}

/** Fields of the wrong type fail the check of the MAC. */
function readLine(text: string) {
  try {
    const { at, detail, mac, chain, ...row }: ExportLine = JSON.parse(text);
    return {
      ...row,
      at: new Date(at),
      detail: detail === null ? null : JSON.stringify(detail),
      mac: Buffer.from(mac, 'hex'),
      chain: chain === null ? null : Buffer.from(chain, 'hex'),
    };
  } catch {
    return undefined;
  }
}
