import type { IconName } from '../../parts/Icon.tsx';
import { fieldLabel, operationLabels } from '../../parts/labels.ts';
import type { JobStep } from '../../service/types.ts';
import { describeFailure, duration } from './labels.ts';

/** One line of a job's timeline. */
export type TimelineLine = {
  key: string;
  at: string;
  text: string;
  duration: string;
  icon: IconName;
  color: string;
  /** Attempts that failed in the same way, which the line stands for. */
  repeats?: TimelineLine[];
};
type AttemptLine = TimelineLine & { attempt: number; signature: string };

/** A job's steps as lines of text: a write and its outcome are one line. `finished`: no response can arrive anymore. */
export function toTimeline(steps: readonly JobStep[], emr: string, finished: boolean): TimelineLine[] {
  const lines: AttemptLine[] = [];
  for (const [n, step] of steps.entries()) {
    const outcome = step.kind === 'intent' ? findOutcome(steps, n) : undefined;
    // Already part of the line of its intent.
    if (step.kind === 'outcome' && findIntent(steps, n)) continue;
    const took = outcome ? between(step, outcome) : step.kind === 'note' ? listDuration(step, steps[n - 1]) : '';
    const text = step.kind === 'note' ? noteLabel(step) : writeLabel(step, outcome, emr, finished);
    const { attempt, kind, name, detail } = step;
    const signature = [kind, name, detail?.reason, outcome?.detail?.not_applied].join();
    lines.push({ key: String(n), at: step.at, text, duration: took, attempt, signature, ...chooseLook(step, outcome) });
  }
  return collapseRepeats(lines);
}

/** Fewer attempts are shown one by one. */
const repeats_min = 3;

/** One line for each row of attempts that were retried in the same way. */
function collapseRepeats(lines: readonly AttemptLine[]): TimelineLine[] {
  const attempts = new Map<number, AttemptLine[]>();
  for (const line of lines) attempts.set(line.attempt, [...(attempts.get(line.attempt) ?? []), line]);
  const rows: AttemptLine[][][] = [];
  for (const attempt of attempts.values()) {
    const row = rows.at(-1);
    const same = row?.[0] && summarizeAttempt(row[0]) === summarizeAttempt(attempt) && attempt.at(-1)?.icon === 'retry';
    if (row && same) row.push(attempt);
    else rows.push([attempt]);
  }
  return rows.flatMap((row): TimelineLine[] => (row.length < repeats_min ? row.flat() : [summarize(row, lines)]));
}

function summarizeAttempt(attempt: readonly AttemptLine[]): string {
  return attempt.map(({ signature }) => signature).join('|');
}

function summarize(row: readonly AttemptLine[][], lines: readonly AttemptLine[]): TimelineLine {
  const repeats = row.flat();
  const [first, last] = [row[0]?.at(-1), repeats.at(-1)];
  if (!first || !last) throw new Error('A row of attempts is empty.');
  const reason = first.text.replace(/ Retrying in [^.]*\.?.*$/, '');
  return {
    ...{ key: `repeats ${first.key}`, at: last.at, icon: last.icon, color: last.color, repeats },
    text: `${row.length} attempts failed the same way. ${describeStep(row[0] ?? [], lines)} ${reason}`,
    duration: `${duration(Date.parse(last.at) - Date.parse(repeats[0]?.at ?? last.at))} in all`,
  };
}

/** Which write an attempt failed at. */
function describeStep(attempt: readonly AttemptLine[], lines: readonly AttemptLine[]): string {
  const step = attempt.find(({ icon }) => icon === 'cross' || icon === 'send');
  if (step)
    return step.text.replace(/: not saved\..*$/, ': not saved.').replace(/: sent, .*$/, ': sent, not confirmed.');
  const earlier = lines.filter((line) => line.attempt < (attempt[0]?.attempt ?? 0));
  // Nothing is sent again before the EMR has said whether it was saved.
  if (earlier.some(({ icon }) => icon === 'send')) return 'While checking whether the write was saved.';
  return earlier.some(({ signature }) => signature.startsWith('intent'))
    ? 'Before the next write.'
    : 'Before the first write.';
}

const good = 'var(--chart-succeeded)';
const bad = 'var(--chart-failed)';
const open = 'var(--chart-p95)';
const neutral = 'var(--mantine-color-dimmed)';

const note_looks: Record<string, Pick<TimelineLine, 'icon' | 'color'>> = {
  started: { icon: 'play', color: neutral },
  retry: { icon: 'retry', color: open },
  parked: { icon: 'pause', color: open },
  succeeded: { icon: 'check', color: good },
  partial: { icon: 'alert', color: open },
  failed: { icon: 'cross', color: bad },
  cancelled: { icon: 'cross', color: open },
  needs_review: { icon: 'question', color: open },
};

function chooseLook(step: JobStep, outcome: JobStep | undefined): Pick<TimelineLine, 'icon' | 'color'> {
  if (step.kind === 'note') return note_looks[step.name] ?? { icon: 'note', color: neutral };
  if (step.kind === 'outcome') return { icon: 'check', color: good };
  if (!outcome) return { icon: 'send', color: open };
  return typeof outcome.detail?.not_applied === 'string'
    ? { icon: 'cross', color: bad }
    : { icon: 'check', color: good };
}

function findOutcome(steps: readonly JobStep[], n: number): JobStep | undefined {
  const { name, attempt } = steps[n] ?? {};
  return steps.slice(n + 1).find((each) => each.kind === 'outcome' && each.name === name && each.attempt === attempt);
}

function findIntent(steps: readonly JobStep[], n: number): JobStep | undefined {
  const { name, attempt } = steps[n] ?? {};
  return steps.slice(0, n).find((each) => each.kind === 'intent' && each.name === name && each.attempt === attempt);
}

function writeLabel(step: JobStep, outcome: JobStep | undefined, emr: string, finished: boolean): string {
  const write = fieldLabel(step.name);
  // An outcome without an intent: an earlier attempt sent the write, and this one looked it up.
  if (step.kind === 'outcome') return `${write}: already saved in ${emr}${recordLabel(step)}. Not sent again.`;
  if (!outcome && step.detail?.accepted)
    return `${write}: ${emr} accepted it, but the record does not show the change.`;
  if (!outcome) return finished ? `${write}: sent, no response.` : `${write}: sent, waiting for a response.`;
  const rejected = outcome.detail?.not_applied;
  if (typeof rejected === 'string') return `${write}: not saved. ${describeFailure(rejected).label}.`;
  return `${write}: saved${recordLabel(outcome)}.`;
}

function recordLabel({ detail }: JobStep): string {
  const { ehr_id, mrn } = detail ?? {};
  if (typeof mrn === 'string') return `, MRN ${mrn}`;
  return typeof ehr_id === 'string' ? `, EMR record ${ehr_id}` : '';
}

function noteLabel({ name, attempt, detail }: JobStep): string {
  const reason = typeof detail?.reason === 'string' ? detail.reason : '';
  if (name === 'started') return attempt === 1 ? 'Started' : `Attempt ${attempt} started`;
  if (name === 'retry') return `${reason} Retrying in ${duration(Number(detail?.in_ms ?? 0))}.`;
  if (name === 'parked') return `Waiting for re-linking. ${reason}`;
  if (typeof detail?.stored === 'number') {
    const held_back = heldLabel(detail.held_back);
    if (held_back) return `${fieldLabel(name)}: ${detail.stored} read. ${held_back}`;
    return `${fieldLabel(name)}: ${detail.stored} read, ${detail.removed ?? 0} removed.`;
  }
  if (typeof detail?.refused === 'string') return `${fieldLabel(name)}: not read. ${detail.refused}`;
  if (name === 'capabilities') return capabilitiesLabel(detail);
  if (name === 'requests') {
    return `Sent ${detail?.sent} requests to the EMR, as many as a sync may in an hour. Continuing in ${duration(Number(detail?.in_ms ?? 0))}.`;
  }
  return final_states[name] ?? fieldLabel(name);
}

/** A warning that nothing was removed, because the list lacked too many records. */
function heldLabel(held_back: unknown): string {
  const { stored, missing } = Object(held_back) as { stored?: number; missing?: number };
  if (typeof missing !== 'number') return '';
  return `Warning: ${missing} of ${stored} stored records are missing from the EMR’s list. None were removed; an operator must confirm the removal on the Accounts page.`;
}

/** Which operations the EMR has gained and lost. */
function capabilitiesLabel(detail: JobStep['detail']): string {
  const labels = (names: unknown) => (Array.isArray(names) ? operationLabels(names) : '');
  const [gained, lost] = [labels(detail?.gained), labels(detail?.lost)];
  if (!gained && !lost) return 'The EMR’s capability statement changed. Supported operations are the same.';
  return `${gained && `Now supported: ${gained}. `}${lost && `No longer supported: ${lost}.`}`.trim();
}

const final_states: Record<string, string> = {
  succeeded: 'Completed',
  partial: 'Partially completed',
  failed: 'Failed',
  cancelled: 'Canceled',
  needs_review: 'Outcome unknown',
};

/** A sync reads one list after the other, so each took the time since the previous one. */
function listDuration(step: JobStep, before: JobStep | undefined): string {
  return typeof step.detail?.stored === 'number' && before ? between(before, step) : '';
}

function between(before: JobStep, after: JobStep): string {
  return duration(Date.parse(after.at) - Date.parse(before.at));
}
