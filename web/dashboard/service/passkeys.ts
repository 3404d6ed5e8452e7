import {
  browserSupportsWebAuthnAutofill,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  startAuthentication,
  startRegistration,
} from '@simplewebauthn/browser';
import { ApiError, type Body, call, type ResponseOf } from './api.ts';

/** Browsers bind passkeys to host names and refuse IP addresses. */
export const passkeys_possible =
  'PublicKeyCredential' in window && !/^[\d.]+$|^\[/.test(window.location.hostname) && window.isSecureContext;

/** Lets the browser create a passkey, and registers it under this name. */
export async function registerPasskey(name: string): Promise<ResponseOf<'me.passkeys.create'>> {
  const { options } = await call('me.passkeys.options', {});
  // The server's library defines these options, so that our own schema does not repeat them.
  const optionsJSON = options as PublicKeyCredentialCreationOptionsJSON;
  const { id, response } = await startRegistration({ optionsJSON }).catch(explain);
  const passkey = {
    id,
    client_data: response.clientDataJSON,
    attestation: response.attestationObject,
    transports: response.transports ?? [],
  };
  return call('me.passkeys.create', {}, { body: { name, passkey } });
}

/** Lets the operator choose a passkey in the browser, and signs the server's challenge with it. */
export async function signWithPasskey(): Promise<Body<'session.passkey'>> {
  return sign(false);
}

/**
 * Offers passkeys among the suggestions of the email field, until another request for a passkey is made. Undefined if
 * none is chosen there: people who do not want it must not see an error.
 */
export async function suggestPasskeys(): Promise<Body<'session.passkey'> | undefined> {
  if (!passkeys_possible || !(await browserSupportsWebAuthnAutofill())) return undefined;
  return sign(true).catch(() => undefined);
}

async function sign(useBrowserAutofill: boolean): Promise<Body<'session.passkey'>> {
  const { options } = await call('session.passkey-options', {});
  const optionsJSON = options as PublicKeyCredentialRequestOptionsJSON;
  const { id, response } = await startAuthentication({ optionsJSON, useBrowserAutofill }).catch(explain);
  const { clientDataJSON: client_data, authenticatorData: authenticator_data, signature, userHandle } = response;
  return { passkey: { id, client_data, authenticator_data, signature, user_handle: userHandle ?? '' } };
}

const explanations: Record<string, string> = {
  InvalidStateError: 'This device already has a passkey for your account.',
  NotAllowedError: 'No passkey was used: the browser dialog was closed or timed out.',
  SecurityError: 'Passkeys do not work at this address. Open the dashboard at the address in BASE_URL.',
};

function explain(error: unknown): never {
  const name = error instanceof Error ? error.name : '';
  const message = explanations[name] ?? 'The browser could not use a passkey. Try another device.';
  throw new ApiError(400, { code: 'passkey_unusable', message });
}
