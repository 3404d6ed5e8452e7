import { createHmac, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Head } from './auditHead.ts';

/**
 * A copy of the head of the audit log outside the database, with a MAC. If the database no longer contains it, the log
 * was cut off, replaced, or restored from an older copy.
 */
export type Anchor = Head & {
  at: string;
  /** When an operator accepted a restored log as it was. Anchors from before that time no longer count. */
  reset_at: string | null;
};

/** The anchors of a file that count, oldest first, and whether a line was changed or belongs to another database. */
export type AnchorFile = { anchors: Anchor[]; changed: boolean };

export function localAnchorFile(data_dir: string): string {
  return join(data_dir, 'audit.anchor');
}

export function anchorLine(key: Buffer, anchor: Anchor): string {
  const { position, chain, at, reset_at } = anchor;
  return JSON.stringify({ position, chain: chain.toString('hex'), at, reset_at, mac: anchorMac(key, anchor) });
}

/** Reads a file of anchors, one JSON object per line. A line that a crash cut short is skipped. */
export async function readAnchors(file: string, key: Buffer): Promise<AnchorFile> {
  let found: AnchorFile = { anchors: [], changed: false };
  let reset_at = '';
  try {
    for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) {
      const parsed = parseLine(line);
      if (parsed === undefined) continue;
      if (anchorMac(key, parsed.anchor) !== parsed.mac) {
        found.changed = true;
        continue;
      }
      if ((parsed.anchor.reset_at ?? '') > reset_at) {
        reset_at = parsed.anchor.reset_at ?? '';
        found = { anchors: [], changed: false };
      }
      found.anchors.push(parsed.anchor);
    }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  }
  return found;
}

/** Replaces the file in one step, so that a crash leaves the old or the new anchor. */
export async function writeAnchor(file: string, line: string): Promise<void> {
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    const handle = await open(draft, 'wx', 0o600);
    try {
      await handle.writeFile(`${line}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, file);
  } finally {
    await rm(draft, { force: true });
  }
}

/** Appends a line with one write, which works on files that the system only allows to be appended to (chattr +a). */
export async function appendAnchor(file: string, line: string): Promise<void> {
  const handle = await open(file, 'a', 0o600);
  try {
    // The line break comes first as well: the last line may have been cut short by a crash.
    await handle.writeFile(`\n${line}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function anchorMac(key: Buffer, { position, chain, at, reset_at }: Anchor): string {
  const text = JSON.stringify(['anchor', position, chain.toString('hex'), at, reset_at]);
  return createHmac('sha256', key).update(text).digest('hex');
}

function parseLine(line: string): { anchor: Anchor; mac: string } | undefined {
  let fields: unknown;
  try {
    fields = JSON.parse(line);
  } catch {
    return undefined;
  }
  const { position, chain, at, reset_at = null, mac } = Object(fields);
  const valid = Number.isSafeInteger(position) && [chain, at, mac].every((each) => typeof each === 'string');
  if (!valid || !(reset_at === null || typeof reset_at === 'string')) return undefined;
  return { anchor: { position, chain: Buffer.from(chain, 'hex'), at, reset_at }, mac };
}
