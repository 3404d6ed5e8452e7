import { textOr } from '../../parts/labels.ts';

type Failure = { code?: string | null; error_code?: string | null; error_message: string | null; note?: string | null };

/** What can be done about each error of a link. */
const remedies: Record<string, string> = {
  emr_host_not_found: 'Check the address: no server has this name. Then create a new link.',
  emr_address_wrong: 'Check the address with the practice: the server there is not the EMR. Then create a new link.',
  emr_unavailable: 'Wait until the EMR responds; the same link can be used again.',
  emr_credentials_wrong: 'Ask the person to check the username and password; the same link can be used again.',
  emr_code_wrong: 'Ask the person for the current one-time code; the same link can be used again.',
  emr_locked: 'Wait until the EMR unlocks the user, or have its administrator do it.',
  emr_client_refused: 'Compare the client ID with the one that the EMR’s administrator registered.',
  emr_secret_refused: 'Compare the client secret with the one that the EMR issued.',
  emr_key_refused: 'Have the EMR’s administrator register the key set of this service (JWKS URL).',
  emr_scope_refused: 'Have the EMR’s administrator grant the scopes to this client.',
  emr_no_records: 'Have the EMR’s administrator give the user access to records, or link another user.',
  emr_page_declined: 'Ask the person to complete the sign-in on the EMR’s page.',
  emr_sign_in_refused: 'Check the EMR app with the EMR’s administrator: client ID, keys and scopes.',
};

/** Why a link failed, and what to do. The server's own words are more specific than the error's. */
export function describeLinkFailure({ code, error_code, error_message, note }: Failure): {
  cause: string;
  remedy: string;
} {
  const cause = textOr(note, '') || textOr(error_message, '');
  const not_found = /could not be found|ENOTFOUND|no such host/i.test(cause);
  const remedy = remedies[not_found ? 'emr_host_not_found' : (code ?? error_code ?? '')];
  return { cause, remedy: remedy ?? 'Open the report for the requests that were sent, then create a new link.' };
}
