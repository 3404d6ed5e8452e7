import { type Endpoint, isRead } from '../../../http/endpoint.ts';
import { job_labels } from '../../../product/writes/writes.ts';
import type { AuditRecord } from './schema.ts';

/** A record as people read it. The record itself stays as it is: exports and verification do not contain this. */
export type Reading = {
  sentence: string;
  /** The outcome in words, with the status of an HTTP response. */
  result: string;
  failed: boolean;
  /** Whether the actor only read something. */
  reads: boolean;
};

/** Returns a function that describes records, by the declarations of the endpoints that actions are called after. */
export function recordReader(endpoints: readonly Endpoint[]) {
  const by_id = new Map(endpoints.map((each) => [each.id, each]));
  return (record: Pick<AuditRecord, 'action' | 'outcome' | 'patients' | 'detail'>): Reading => {
    const endpoint = by_id.get(record.action);
    const imperative = endpoint ? trimSummary(endpoint.summary) : toImperative(record);
    const failed = isFailure(record);
    const [verb = '', ...rest] = imperative.split(' ');
    const said =
      failed && !isJob(record.action) ? `Tried to ${lowerFirst(imperative)}` : [toPast(verb), ...rest].join(' ');
    return {
      sentence: said + countPatients(record.patients),
      result: toResult(record.outcome),
      failed,
      reads: endpoint !== undefined && isRead(endpoint),
    };
  };
}

/** `List audit records, newest first` is `List audit records`. */
function trimSummary(summary: string): string {
  const [first = ''] = summary.split(/;|, (?:newest|oldest|latest) first/);
  return first.replace(/\byour\b/, 'its');
}

/** Actions that are not endpoints are called after what they are about and a verb: `client.create`. */
function toImperative({ action, detail }: Pick<AuditRecord, 'action' | 'detail'>): string {
  if (action === 'webhook.deliver' && detail !== null) return `Send ${detail.event_type} to ${detail.host}`;
  const known = imperatives[action];
  if (known !== undefined) return known;
  if (isJob(action)) return `Finish the job “${job_labels[action.slice('job.'.length)] ?? action}”`;
  const parts = action.split('.');
  // `erase.client`, but `client.create`.
  const [verb = '', noun = ''] = parts[0] === 'erase' ? parts : parts.reverse();
  const name = noun.replaceAll(/[_-]/g, ' ');
  const article = name.endsWith('s') ? '' : /^[aeio]/.test(name) ? 'an ' : 'a ';
  return `${upperFirst(verb.replaceAll('_', ' '))} ${article}${name}`;
}

const imperatives: Readonly<Record<string, string>> = {
  'account.sign_out': 'Sign out at the EMR of an account',
  'audit.anchor': 'Anchor the audit log',
  'audit.disclosures': 'Export the disclosures of a patient',
  'audit.export': 'Export the audit log',
  'audit.reanchor': 'Anchor the audit log again',
  'audit.verify': 'Verify the audit log',
  'connectors.load': 'Load a connector',
  'database.restore': 'Restore the database from a backup',
  'directory.import': 'Import a list of practices',
  'directory.list': 'List the sources of the directory',
  'directory.remove': 'Remove a source of the directory',
  'keys.export': 'Export the keys',
  'master_key.rotate': 'Rotate the master key',
  'operator.accept_invitation': 'Accept an invitation',
  'operator.provider_check': 'Check an operator at the identity provider',
  'operator.provider_logout': 'End sessions at the request of the identity provider',
  'operator.sessions_max': 'End the oldest sessions of an operator',
  'operator.sign_in': 'Sign in to the dashboard',
  'retention.set': 'Set a retention period',
};

function isJob(action: string): boolean {
  return action.startsWith('job.');
}

/** Verbs of summaries whose past tense does not follow the rules, or for which readers have a plainer word. */
const past: Readonly<Record<string, string>> = {
  Cancel: 'Canceled',
  Choose: 'Chose',
  Find: 'Searched for',
  Let: 'Let',
  List: 'Viewed',
  Put: 'Put',
  Read: 'Read',
  Resend: 'Resent',
  Reset: 'Reset',
  Retrieve: 'Viewed',
  Run: 'Ran',
  Send: 'Sent',
  Set: 'Set',
  Withdraw: 'Withdrew',
};

function toPast(verb: string): string {
  const irregular = past[verb];
  if (irregular !== undefined) return irregular;
  if (verb.endsWith('e')) return `${verb}d`;
  return /[^aeiou]y$/.test(verb) ? `${verb.slice(0, -1)}ied` : `${verb}ed`;
}

/** Outcomes of failed actions that have no HTTP status. */
const failures = ['refused', 'rejected', 'failed', 'forbidden', 'no_response', 'locked', 'unknown', 'outcome_unknown'];

/** A refused sign-in has its reason as the outcome, and there are more reasons than ways to succeed. */
const sign_in_successes = ['signed in', 'identity confirmed', 'created', 'linked'];

function isFailure({ action, outcome }: Pick<AuditRecord, 'action' | 'outcome'>): boolean {
  if (action === 'operator.sign_in') return !sign_in_successes.includes(outcome);
  return /^[45]\d\d$/.test(outcome) || failures.includes(outcome);
}

const statuses: Readonly<Record<string, string>> = {
  401: 'Denied',
  403: 'Denied',
  404: 'Not found',
  429: 'Over the limit',
};

function toResult(outcome: string): string {
  if (outcome === 'ok') return 'Succeeded';
  if (!/^[1-5]\d\d$/.test(outcome)) return upperFirst(outcome.replaceAll('_', ' ')).replace(/^Sso\b/, 'SSO');
  if (outcome < '400') return 'Succeeded';
  return `${statuses[outcome] ?? (outcome < '500' ? 'Rejected' : 'Failed')} (${outcome})`;
}

function countPatients(patients: number): string {
  if (patients === 0) return '';
  return patients === 1 ? ' (1 patient)' : ` (${patients} patients)`;
}

function upperFirst(text: string): string {
  return text.replace(/^./, (letter) => letter.toUpperCase());
}

function lowerFirst(text: string): string {
  return text.replace(/^./, (letter) => letter.toLowerCase());
}
