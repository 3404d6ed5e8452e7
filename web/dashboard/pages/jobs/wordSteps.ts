import type { JobStep } from '../../../../src/model/dashboard/jobs.ts';
import { wordOperations } from '../../parts/wordOperations.ts';
import { wordDuration, wordEnd, wordName } from './words.ts';

/** One line of a job's timeline. */
export type Line = { key: string; attempt: number; at: string; text: string; took: string };

/** The steps of a job in words: an intent and its outcome are one line. `over`: no answer can come any more. */
export function wordSteps(steps: readonly JobStep[], emr: string, over: boolean): Line[] {
  const lines: Line[] = [];
  for (const [n, step] of steps.entries()) {
    const outcome = step.kind === 'intent' ? outcomeOf(steps, n) : undefined;
    // Told with its intent already.
    if (step.kind === 'outcome' && intentOf(steps, n)) continue;
    const took = outcome ? since(step, outcome) : step.kind === 'note' ? listedIn(step, steps[n - 1]) : '';
    const text = step.kind === 'note' ? wordNote(step) : wordWrite(step, outcome, emr, over);
    lines.push({ key: String(n), attempt: step.attempt, at: step.at, text, took });
  }
  return lines;
}

function outcomeOf(steps: readonly JobStep[], n: number): JobStep | undefined {
  const { name, attempt } = steps[n] ?? {};
  return steps.slice(n + 1).find((each) => each.kind === 'outcome' && each.name === name && each.attempt === attempt);
}

function intentOf(steps: readonly JobStep[], n: number): JobStep | undefined {
  const { name, attempt } = steps[n] ?? {};
  return steps.slice(0, n).find((each) => each.kind === 'intent' && each.name === name && each.attempt === attempt);
}

function wordWrite(step: JobStep, outcome: JobStep | undefined, emr: string, over: boolean): string {
  const what = wordName(step.name);
  // An outcome alone: an earlier try had sent it, and this one asked for it.
  if (step.kind === 'outcome') return `${what}: ${emr} was asked and has it already${recordOf(step)}. Not sent again.`;
  if (!outcome && step.detail?.taken) return `${what}: ${emr} said that it took it, and does not show it.`;
  if (!outcome) return over ? `${what}: sent, and no answer came.` : `${what}: sent. No answer yet.`;
  const refused = outcome.detail?.not_applied;
  if (typeof refused === 'string') return `${what}: ${emr} did not take it. ${wordEnd(refused).short}.`;
  return `${what}: done${recordOf(outcome)}.`;
}

function recordOf({ detail }: JobStep): string {
  const { ehr_id, mrn } = detail ?? {};
  if (typeof mrn === 'string') return `, MRN ${mrn}`;
  return typeof ehr_id === 'string' ? `, EMR record ${ehr_id}` : '';
}

function wordNote({ name, attempt, detail }: JobStep): string {
  const reason = typeof detail?.reason === 'string' ? detail.reason : '';
  if (name === 'started') return attempt === 1 ? 'Begun.' : `Try ${attempt} begun.`;
  if (name === 'retry') return `${reason} Paused for ${wordDuration(Number(detail?.in_ms ?? 0))}.`;
  if (name === 'parked') return `Set aside until the account is linked again. ${reason}`;
  if (typeof detail?.kept === 'number') return `${wordName(name)}: ${detail.kept} read, ${detail.removed ?? 0} gone.`;
  if (typeof detail?.refused === 'string') return `${wordName(name)}: not read. ${detail.refused}`;
  if (name === 'capabilities') return wordCapabilities(detail);
  return ended[name] ?? wordName(name);
}

/** What the EMR was found to do, and to do no longer. */
function wordCapabilities(detail: JobStep['detail']): string {
  const of = (names: unknown) => (Array.isArray(names) ? wordOperations(names) : '');
  const [gained, lost] = [of(detail?.gained), of(detail?.lost)];
  if (!gained && !lost) return 'The EMR says something else of itself than before. What it offers is the same.';
  return `${gained && `The EMR offers now: ${gained}. `}${lost && `It no longer offers: ${lost}.`}`.trim();
}

const ended: Record<string, string> = {
  succeeded: 'Ended: everything that was asked for is done.',
  partial: 'Ended: a part of it is done.',
  failed: 'Ended: not done as it was asked for.',
  needs_review: 'Ended: nobody knows whether it is done.',
};

/** Of a sync's lists each took the time since the one before. */
function listedIn(step: JobStep, before: JobStep | undefined): string {
  return typeof step.detail?.kept === 'number' && before ? since(before, step) : '';
}

function since(before: JobStep, after: JobStep): string {
  return wordDuration(Date.parse(after.at) - Date.parse(before.at));
}
