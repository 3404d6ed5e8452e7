import type { Consent } from './form.ts';
import type { Session, SignInMethod } from './service.ts';
import { isText, type TextName, type Translate } from './texts.ts';

/** What the texts of a step depend on. */
type Wording = { session: Session; t: Translate };

/** What the EMR's administrator needs from us to set up this method. */
export function setupFacts({ t }: Wording, method: SignInMethod | undefined): [string, string][] {
  if (!method?.tells) return [];
  return [[t(method.tells.what === 'key_set' ? 'key_set' : 'return_address'), method.tells.value]];
}

/** The connector's text in English; in other languages ours, if there is one. */
export function textFor({ session, t }: Wording, name: string, label: string): string {
  return session.language !== 'en' && isText(name) ? t(name) : label;
}

/** The connector's label in English; common fields are translated. */
export function labelOf(
  flow: Wording,
  { name, label, autocomplete }: Omit<Session['fields'][number], 'secret' | 'value'>,
): string {
  const { t, session } = flow;
  if (session.language === 'en') return label;
  if (autocomplete === 'username') return t('username');
  return autocomplete === 'current-password' ? t('password') : textFor(flow, `field_${name}`, label);
}

export function pageLabel({ session }: Wording): TextName {
  return session.app ? 'continue_to' : 'open_page';
}

export function pictureOf({ session }: Wording): string | undefined {
  return session.app?.logo ?? undefined;
}

/** Which EMR this is. An app's name says it better. */
export function facts({ session, t }: Wording): [string, string][] {
  if (session.app) return [];
  return [
    [t('organization'), session.organization],
    [t('address'), session.emr_host],
  ];
}

/** What the person agrees to by signing in: which data, for whom, and within which limits. */
export function consent({ t }: Wording, method: SignInMethod | undefined): Consent {
  return {
    title: t('shared_title'),
    kinds: [t('shared_patients'), t('shared_schedule'), t('shared_claims'), t('shared_practice')],
    notes: [t('shared_writes'), t(method ? 'shared_limit_app' : 'shared_limit')],
  };
}

/** Errors of the EMR's sign-in page, which have nothing to do with the input here. */
export const page_errors = ['emr_page_declined', 'emr_page_required', 'page_sign_in_mixed_up', 'page_sign_in_unknown'];

/**
 * The EMR's reason for rejecting a sign-in is meant for its administrator and shown unchanged. The name of an account's
 * EMR user is only known from the message.
 */
export function errorText({ t }: Wording, code: string, message: string): string {
  const text = t(error_texts[code] ?? 'trouble');
  if (code === 'emr_user_mismatch') {
    const [, name = ''] = /belongs to (.*)\. Sign in as/.exec(message) ?? [];
    return text.replace('{name}', () => name);
  }
  const [, reason] = code === 'emr_sign_in_refused' ? message.split(/: (.*)/s) : [];
  return reason ? `${text} ${t('reason')} ${reason}` : text;
}

/** What the administrator must change, with the key set or the scopes to copy. */
export function errorDetail({ t }: Wording, code: string, message: string, method?: SignInMethod) {
  const name = `${code}_detail`;
  if (!isText(name)) return {};
  const [, named] = ['emr_scope_refused', 'emr_key_refused'].includes(code) ? message.split(/: (.*)/s) : [];
  const value = method?.tells?.what === 'key_set' ? method.tells.value : named;
  return { detail: t(name), ...(value && { value }) };
}

/** The text for each error that a sign-in can end with. */
export const error_texts: Record<string, TextName> = {
  emr_credentials_wrong: 'emr_credentials_wrong',
  emr_code_wrong: 'emr_code_wrong',
  emr_locked: 'emr_locked',
  emr_access_refused: 'emr_access_refused',
  emr_client_refused: 'emr_client_refused',
  emr_secret_refused: 'emr_secret_refused',
  emr_key_refused: 'emr_key_refused',
  emr_scope_refused: 'emr_scope_refused',
  emr_method_refused: 'emr_method_refused',
  emr_no_records: 'emr_no_records',
  emr_page_required: 'popup_closed',
  emr_page_declined: 'emr_page_declined',
  page_sign_in_unknown: 'page_lost',
  page_sign_in_mixed_up: 'page_lost',
  emr_unavailable: 'emr_unavailable',
  emr_sign_in_refused: 'emr_sign_in_refused',
  emr_user_mismatch: 'emr_user_mismatch',
  emr_name_mismatch: 'emr_mismatch',
  emr_domain_mismatch: 'emr_mismatch',
  missing_field: 'missing_field',
  rate_limited: 'rate_limited',
  offline: 'offline',
};
