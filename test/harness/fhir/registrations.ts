import { callbackId, keySetUrl, returnAddress } from '../../../src/product/link/registrations.ts';
import type { TestSandbox } from '../sandbox.ts';

type Installation = Pick<TestSandbox, 'ctx' | 'sandbox'>;

/** The redirect URI of a client at a FHIR server without an EMR app. */
export async function redirectUri(
  { ctx, sandbox }: Installation,
  emr_address: string,
  public_id = sandbox.client_id,
): Promise<string> {
  const [client] = await ctx.db.system<{ id: string }[]>`SELECT id FROM clients WHERE public_id = ${public_id}`;
  return returnAddress(ctx, callbackId({ client_id: client?.id ?? '', emr_app_id: null, emr_address }));
}

/** The key set of a client, for sign-ins without an EMR app. */
export function sandboxKeySet({ ctx, sandbox }: Installation, public_id = sandbox.client_id): string {
  return keySetUrl(ctx, public_id, null);
}

/** The body of a new EMR app for one server, with everything on the server's own host. */
export function appFor(address: string, credentials: Record<string, string>, fields: Record<string, unknown> = {}) {
  return { name: 'Hillside Clinic', emr: 'fhir', hosts: [new URL(address).host], credentials, ...fields };
}
