import type { ConsentParts, Grant } from './consent.ts';
import type { Fact } from './facts.ts';
import type { Practice, Session, SignInMethod } from './service.ts';
import { isText, type Language, listed, type TextName, type Translate } from './texts.ts';

/** What the texts of a step depend on. */
type Wording = { session: Session; t: Translate };

/** What the EMR's administrator needs from us to set up this method. */
export function setupFacts({ t }: Wording, method: SignInMethod | undefined): Fact[] {
  if (!method?.tells) return [];
  const name = t(method.tells.what === 'key_set' ? 'key_set' : 'return_address');
  return [{ name, value: method.tells.value, copy: true }];
}

/** The connector's text in English; in other languages ours, if there is one. */
export function textFor({ session, t }: Wording, name: string, label: string): string {
  return session.language !== 'en' && isText(name) ? t(name) : label;
}

/** The connector's label in English; common fields are translated. */
export function translateLabel(
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

export function findPicture({ session }: Wording): string | undefined {
  return session.app?.logo ?? undefined;
}

/** The practice, its EMR, and the host where the person signs in. */
export function facts({ session, t }: Wording): Fact[] {
  const { organization, emr_address, emr_host, ways } = session;
  const sign_in_hosts = ways.flatMap(({ sign_in_host }) => sign_in_host ?? []);
  const hosts = new Set(ways.length === 0 ? [emr_host] : sign_in_hosts);
  const is_said = hosts.size === 1 && hosts.has(emr_address);
  return [
    ...practiceFacts({ session, t }),
    { name: t('organization'), value: organization },
    ...(is_said ? [] : [{ name: t('address'), value: emr_address }]),
    ...(hosts.size > 0 ? [{ name: t('sign_in_at'), value: [...hosts].join(', ') }] : []),
  ];
}

/** The practice of the directory, so that people notice if it is not theirs. */
function practiceFacts({ session: { practice }, t }: Wording): Fact[] {
  if (!practice) return [];
  const place = placeText(practice);
  return [
    { name: t('practice'), value: practice.name },
    ...(place === '' ? [] : [{ name: t('place'), value: place }]),
    ...(practice.parent === null ? [] : [{ name: t('parent'), value: practice.parent }]),
  ];
}

/** `Portland, OR` */
export function placeText({ city, state }: Pick<Practice, 'city' | 'state'>): string {
  return [city, state].filter((text) => text !== null).join(', ');
}

/** What is shared, and within which limits. Only what the EMR supports is named. */
export function shared(flow: Wording & { language: Language }): ConsentParts['shared'] {
  const { session, t, language } = flow;
  const { known, reads, writes } = session.access;
  const named = (prefix: string, names: readonly string[]) => {
    const texts = names.map((name) => `${prefix}_${name}`).filter(isText);
    return capitalized(
      listed(
        language,
        texts.map((name) => t(name)),
      ),
    );
  };
  const grant = (icon: Grant['icon'], title: TextName, names: readonly string[], prefix?: string): Grant[] =>
    names.length === 0 ? [] : [{ icon, title: t(title), ...(prefix && { detail: named(prefix, names) }) }];
  const among = (names: readonly string[]) => names.filter((name) => reads.includes(name));
  const in_chart = ['patients', 'insurance', 'medications', 'orders', 'referrals', 'documents', 'visits', 'balances'];
  const limit = t(session.ways.length > 0 ? 'shared_limit_app' : 'shared_limit');
  return {
    title: t('shared_title'),
    grants: [
      ...grant('people', 'shared_patients', among(in_chart), 'read'),
      ...grant('calendar', 'shared_schedule', among(['appointments', 'schedules'])),
      ...grant('claims', 'shared_claims', among(['claims'])),
      ...grant('building', 'shared_practice', among(['providers', 'staff', 'locations', 'pharmacies']), 'read'),
      ...grant('pencil', 'shared_writes', writes, 'write'),
    ],
    notes: [known ? limit : `${t('shared_unknown')} ${limit}`],
  };
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Errors of the EMR's sign-in page, which have nothing to do with the input here. */
export const page_errors = ['emr_page_declined', 'emr_page_required', 'page_sign_in_mixed_up', 'page_sign_in_unknown'];

/**
 * The EMR's reason for a failed sign-in is meant for its administrator and shown unchanged. The name of an account's EMR
 * user, and a host that does not exist, are only known from the message.
 */
export function errorText({ t }: Wording, code: string, message: string, values: Record<string, string> = {}): string {
  const name = error_texts[code] ?? 'trouble';
  const part = (pattern: RegExp) => pattern.exec(message)?.[1] ?? '';
  if (code === 'emr_user_mismatch') return t(name, { name: part(/belongs to (.*)\. Sign in as/) });
  if (code === 'emr_host_not_found') return t(name, { host: part(/host (\S+) could not be found/) });
  const reason = reasoned.includes(code) ? part(/: (.*)/s) : '';
  return reason ? `${t(name)} ${t('reason')} ${reason}` : t(name, values);
}

const reasoned = ['emr_sign_in_refused', 'emr_address_wrong'];

/** Why nobody can sign in at the EMR's address. */
export function problemText({ session, t }: Wording): string {
  const { code = '', host = '', reason = '' } = session.problem ?? {};
  const not_found = code === 'emr_host_not_found';
  const cause = not_found
    ? t('emr_host_not_found', { host })
    : session.language === 'en'
      ? reason
      : `${t('emr_address_wrong')} ${t('reason')} ${reason}`;
  return `${cause} ${t('problem_address', { address: session.emr_address })}`;
}

const named_values: Record<string, RegExp> = {
  emr_key_refused: /^\S+/,
  emr_scope_refused: /^((openid|fhirUser|profile|(offline|online)_access|launch\S*|\S+\/\S+)(\s|$))+/,
};

/** What the administrator must change, with the key set or the scopes to copy. */
export function errorDetail({ t }: Wording, code: string, message: string, method?: SignInMethod) {
  const name = `${code}_detail`;
  if (!isText(name)) return {};
  const [, after = ''] = message.split(/: (.*)/s);
  // What the EMR said may follow.
  const [named] = named_values[code]?.exec(after) ?? [];
  const value = method?.tells?.what === 'key_set' ? method.tells.value : named?.trim();
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
  emr_host_not_found: 'emr_host_not_found',
  emr_address_wrong: 'emr_address_wrong',
  emr_user_mismatch: 'emr_user_mismatch',
  emr_name_mismatch: 'emr_mismatch',
  emr_domain_mismatch: 'emr_mismatch',
  practice_not_found: 'practice_gone',
  practice_unavailable: 'practice_unavailable',
  practice_mismatch: 'emr_mismatch',
  missing_field: 'missing_field',
  practice_page_other_user: 'practice_page_other_user',
  rate_limited: 'rate_limited',
  offline: 'offline',
};
