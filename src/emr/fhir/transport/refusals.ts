import { EmrFailure } from '../../connector.ts';
import { type FhirResponse, issuesOf, isTransient, rejection } from './call.ts';
import type { Server } from './search.ts';

/**
 * Statuses by which a server refuses an interaction as a whole. The records that a write refers to were read before, so
 * a 403 or 404 is not about one of them.
 */
const whole_refusals = new Set([403, 404, 405, 501]);

/** The meaning of a rejected write. A refusal of the whole interaction is remembered. */
export async function refusal(
  server: Server,
  type: string,
  interaction: 'create' | 'update',
  response: FhirResponse,
): Promise<EmrFailure> {
  if (whole_refusals.has(response.status)) return refusedAsWhole(server, type, interaction, response.status);
  const failure = rejection(response, type);
  if (interaction === 'update' || failure.code !== 'record_changed') return failure;
  // A new record has no version that somebody else could have changed.
  return new EmrFailure('refused', failure.message, { cause: failure });
}

/**
 * Whether a create was rejected because of another request at the same time. An appointment that conflicts with another
 * one is not: its time is taken. Neither is a duplicate.
 */
export function isCollision({ status, resource }: FhirResponse, type: string): boolean {
  if (status < 400) return false;
  const outcome = resource?.resourceType === 'OperationOutcome' ? resource : undefined;
  if (isTransient(outcome)) return true;
  if ((status !== 409 && status !== 412) || type === 'Appointment') return false;
  return issuesOf(outcome).every((issue) => collision_codes.has(issue?.code));
}

/** What servers send with a 409 that says no more. */
const collision_codes = new Set<string | undefined>(['conflict', 'exception', 'processing', undefined]);

async function refusedAsWhole(
  server: Server,
  type: string,
  interaction: 'create' | 'update',
  status: number,
): Promise<EmrFailure> {
  await server.learn((facts) => {
    facts.refused = {
      ...facts.refused,
      [type]: { ...facts.refused?.[type], [interaction]: { status, at_ms: Date.now() } },
    };
  });
  const what = interaction === 'create' ? `new ${type} records` : `changes to ${type} records`;
  const [message, code] =
    status === 403
      ? ([`The server does not allow this account to send ${what}.`, 'not_permitted'] as const)
      : ([`The server does not accept ${what} (${status}).`, 'not_supported'] as const);
  return new EmrFailure('refused', message, { code, not_offered: true });
}

/**
 * An update that the server answered with 500 without storing it. It is retried; after a minute without a single success
 * the server does not support updates of this type.
 */
export async function failedUpdate(server: Server, type: string): Promise<EmrFailure> {
  const failing = server.facts.failing_updates?.[type] ?? { since_ms: Date.now(), count: 0 };
  if (failing.count + 1 >= failing_min && Date.now() - failing.since_ms >= failing_min_ms) {
    return refusedAsWhole(server, type, 'update', 500);
  }
  await server.learn((facts) => {
    facts.failing_updates = { ...facts.failing_updates, [type]: { ...failing, count: failing.count + 1 } };
  });
  return new EmrFailure('unavailable', server_error);
}

export const server_error = 'The EMR responded with an error (500).';
const failing_min = 3;
const failing_min_ms = 60_000;
