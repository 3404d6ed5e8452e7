import { cpus, totalmem } from 'node:os';

/** The machine that a report was measured on. */
export function describeMachine(): string {
  return `${cpus().length} × ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GB`;
}
