import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Secret, TOTP } from 'otpauth';
import { LoginRequiredError } from '../../../../sdk/src/errors.ts';
import { StartFailure } from '../../../catalog/errors.ts';
import { type Scene, type Started, type TriggeredEvent, type TriggerRequests, withFault } from './scene.ts';

export const account_requests = {
  sync: async ({ client }) => ({
    send: () => client.sync.createAndWait(),
    meanwhile: { start: (other) => other.sync.create(), waits_for_others: true },
  }),
  read_after_expiry: async (scene) => ({ send: () => expireLink(scene) }),
} satisfies TriggerRequests;

/**
 * A job that cannot finish because the EMR fails, and whose account is then unlinked. By itself it would fail after an
 * hour of attempts. The fault stays until the job has failed: one that is running when the account is unlinked could
 * still finish. A sync waits for the other syncs of the practice, which must not fail too, but it is never running then:
 * the first sync of the account is ahead of it.
 */
export async function unlinkMeanwhile(
  scene: Scene,
  { start, waits_for_others = false }: Started,
  operation = 'list_patients',
): Promise<TriggeredEvent> {
  // Another member of the staff: unlinking ends their sessions.
  const client = scene.client.forAccount(await linkAccount(scene, { user_id: `trigger-${randomUUID()}`, staff: 1 }));
  const fault = { operation, kind: 'error_500', times: 1_000 };
  const startAndUnlink = async () => {
    const { job_id } = await start(client);
    await client.account.delete();
    return job_id;
  };
  // The token is revoked then, so the event can be read from the client's stream only.
  return waits_for_others
    ? scene.observe(() => withFault(scene, fault, startAndUnlink))
    : withFault(scene, fault, () => scene.observe(startAndUnlink));
}

/** Lets the link expire, waits for the event, and links the account again, so that the sandbox stays usable. */
async function expireLink(scene: Scene): Promise<TriggeredEvent> {
  const { client, control, sandbox } = scene;
  const newest = async () =>
    (await client.webhookEvents.list({ event_type: 'login_required', page_size: 1 })).webhook_events[0];
  const before = await newest();
  await control('POST', '/control/sessions/expire', { mode: 'link' });
  await client.patients.fetch({ search_by: 'mrn', mrn: sandbox.example.patient_mrn }).catch((error: unknown) => {
    if (!(error instanceof LoginRequiredError)) throw error;
  });
  try {
    return await until(async () => {
      const event = await newest();
      return event?.id === before?.id ? undefined : event;
    });
  } finally {
    await linkAccount(scene, { user_id: sandbox.user_id, staff: 0, access_token: sandbox.access_token });
  }
}

/** Signs in a member of the staff, and returns the access token. */
async function linkAccount(
  { client, sandbox }: Scene,
  { user_id, staff, access_token }: { user_id: string; staff: number; access_token?: string },
): Promise<string> {
  const person = sandbox.larkspur.staff[staff];
  if (!person) throw new StartFailure(`Larkspur has no staff member ${staff}.`);
  const purpose = { user_id, org_id: sandbox.org_id, ...(access_token !== undefined && { access_token }) };
  const { token: link_token } = await client.link.token.create(purpose);
  const { public_token } = await client.sandbox.publicToken.create({
    link_token,
    credentials: { username: person.username, password: person.password },
    one_time_code: new TOTP({ secret: Secret.fromBase32(person.totp_secret) }).generate(),
  });
  return (await client.link.token.exchange({ public_token })).token;
}

const wait_ms = 60_000;
const poll_ms = 200;

async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  const deadline = Date.now() + wait_ms;
  while (Date.now() < deadline) {
    const result = await look();
    if (result !== undefined) return result;
    await pause(poll_ms);
  }
  throw new StartFailure(`The event did not happen within ${wait_ms / 1000} seconds. Is a worker running?`);
}
