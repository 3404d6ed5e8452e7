import { drawAdministrators } from './administrators.ts';
import { showNotice } from './card.ts';
import type { Flow } from './flow.ts';
import { type Form, type FormParts, type Input, showForm } from './form.ts';
import { askConsent, showProblem } from './openingSteps.ts';
import { findPractice } from './practiceSearch.ts';
import { type ErrorResult, isError, type Session, type SignInMethod } from './service.ts';
import { openSignInWindow } from './signInWindow.ts';
import { formatClock, type TextName } from './texts.ts';
import {
  errorDetail,
  errorText,
  facts,
  findPicture,
  page_errors,
  pageLabel,
  setupFacts,
  textFor,
  translateLabel,
} from './wording.ts';

/** The steps from the consent to the linked account. Input is kept only in these functions. */
export function runLink(flow: Flow): void {
  const { session } = flow;
  if (session.finds_practice && session.emr_host === '') findPractice(flow);
  else if (session.problem) showProblem(flow);
  else if (session.consent?.required) askConsent(flow, session.consent.terms_id, () => askSignIn(flow));
  else askSignIn(flow);
}

/**
 * The method that is offered first: that of the account or the app, else the EMR's own page, on which staff sign in. The
 * others need what only an administrator has.
 */
function firstMethod({ session: { ways, way } }: Flow): SignInMethod | undefined {
  const [only] = ways.length === 1 ? ways : [];
  return ways.find(({ name }) => name === way) ?? ways.find(({ on_page }) => on_page) ?? only;
}

function askSignIn(flow: Flow): void {
  const { session } = flow;
  const method = firstMethod(flow);
  if (session.ways.length > 0 && !method) {
    askAdministrator(flow);
    return;
  }
  const fields = listFields(flow, method);
  const required = fields.filter((field) => !field.known && !field.optional);
  if (session.update && required.length === 0) askToReconnect(flow, method);
  else {
    const names = session.update ? required : fields.filter((field) => !field.known);
    askCredentials(
      flow,
      names.map(({ name }) => name),
      session.update ? leadForUpdate(flow) : leadFor(flow, method, names.length > 0),
      method,
    );
  }
}

/** During an outage of the EMR, a sign-in can fail for no fault of the person. */
function leadForUpdate({ session: { outage_since }, language, t }: Flow): string {
  if (outage_since === null) return t('lead_update');
  return `${t('lead_update')} ${t('outage', { since: formatClock(language, outage_since) })}`;
}

function leadFor({ session, t, practice_page }: Flow, method: SignInMethod | undefined, has_inputs: boolean): string {
  if (!method) return t(practice_page ? 'lead_practice' : 'lead');
  if (method.on_page)
    return has_inputs ? t('lead_page_client') : t('lead_page', { host: method.sign_in_host ?? session.emr });
  return session.app ? t('lead_app') : textFor({ session, t }, `about_${method.name}`, method.about);
}

/** The server has no sign-in page for staff. */
function askAdministrator(flow: Flow): void {
  const { t, card } = flow;
  showNotice(card, {
    icon: 'link',
    tone: 'plain',
    title: t('admin_title'),
    text: t('admin_lead'),
    below: administrators(flow, undefined, true),
  });
}

/** The other methods, below a form. */
function administrators(flow: Flow, method: SignInMethod | undefined, open = false): Node[] {
  if (flow.practice_page) return [];
  const others = flow.session.ways.filter((way) => way !== method);
  return drawAdministrators(flow, { method, others, open }, (other) =>
    askCredentials(flow, other.fields, leadFor(flow, other, other.fields.length > 0), other),
  );
}

/** All credentials are saved. The person still confirms, so that opening the page alone does nothing. */
function askToReconnect(flow: Flow, method: SignInMethod | undefined): void {
  const { session, t, card } = flow;
  // A client ID is no account of a person.
  const account = listFields(flow, method).flatMap(({ value, label, autocomplete }) =>
    value === null ? [] : [{ name: autocomplete === 'username' ? t('saved_account') : label, value }],
  );
  const form = showForm(
    card,
    {
      title: t('title_update'),
      lead: leadForUpdate(flow),
      facts: [...account, ...(session.app ? [] : facts(flow))],
      inputs: [],
      picture: findPicture(flow),
      submit: t(method?.on_page ? pageLabel(flow) : 'reconnect'),
      below: administrators(flow, method),
      send: () => send(flow, form, method, {}),
    },
    t,
  );
}

function askCredentials(flow: Flow, required: string[], lead: string, method?: SignInMethod): Form {
  const { session, t, card } = flow;
  const is_first = method === firstMethod(flow);
  const fields = session.fields.filter(({ name }) => required.includes(name));
  const inputs = fields.map(({ secret, value, ...field }): Input => {
    const label = translateLabel(flow, field);
    return { ...field, label, value: value ?? '', kind: secret ? 'password' : 'text' };
  });
  const form = showForm(
    card,
    {
      title: t(session.update ? 'title_update' : inputs.length > 0 || method?.on_page ? 'title_sign_in' : 'title'),
      lead,
      // On a page of the EMR, the redirect URI is only for its administrator.
      facts: method?.on_page ? [] : setupFacts(flow, method),
      inputs,
      reveal: {
        show: { label: t('show'), text: t(method ? 'show_secret' : 'show_password') },
        hide: { label: t('hide'), text: t(method ? 'hide_secret' : 'hide_password') },
      },
      picture: findPicture(flow),
      submit: t(method?.on_page ? pageLabel(flow) : inputs.length > 0 ? 'sign_in' : 'connect'),
      others: is_first ? [] : [{ label: t('other_method'), press: () => askSignIn(flow) }],
      ...(inputs.length > 0 && { note: t(privacyText(flow, method)) }),
      below: is_first ? administrators(flow, method) : [],
      send: (values) => {
        const empty = inputs.find(({ name, optional }) => !optional && !values[name]);
        if (empty) return form.interrupt(t('missing_field'), empty.name);
        // Kept for going back to this step.
        for (const field of fields) if (!field.secret) field.value = values[field.name] ?? field.value;
        send(flow, form, method, values);
      },
    },
    t,
  );
  return form;
}

function privacyText({ practice_page }: Flow, method: SignInMethod | undefined): TextName {
  if (practice_page) return method ? 'privacy_method_practice' : 'privacy_practice';
  return method ? 'privacy_method' : 'privacy';
}

/** Sends the input with its sign-in method; empty values are left out. */
function send(flow: Flow, form: Form, method: SignInMethod | undefined, values: Record<string, string>): void {
  const input = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''));
  const credentials = method ? { way: method.name, ...input } : input;
  if (method?.on_page) openPage(flow, form, method, credentials);
  else void signIn(flow, form, method, credentials);
}

let stopWaiting: (() => void) | undefined;

/** Opens the EMR's own sign-in page in a window, because such pages cannot be embedded. */
function openPage(flow: Flow, form: Form, method: SignInMethod, credentials: Record<string, string>): void {
  const { t, host, service } = flow;
  stopWaiting?.();
  stopWaiting = openSignInWindow(service, credentials, {
    finished: (result) => {
      if (result === 'signed_in') void signIn(flow, form, method, credentials);
      else showSignInError(flow, form, method, result);
    },
    closed: () => {
      host.event('error', 'page_closed');
      form.interrupt(t('popup_closed'));
    },
  });
  host.event(stopWaiting ? 'page_opened' : 'error', stopWaiting ? undefined : 'page_blocked');
  if (stopWaiting) form.inform(t('page_open'));
  else form.interrupt(t('popup_blocked'));
}

function listFields({ session }: Flow, method: SignInMethod | undefined): Session['fields'] {
  return method ? session.fields.filter(({ name }) => method.fields.includes(name)) : session.fields;
}

async function signIn(
  flow: Flow,
  form: Form,
  method: SignInMethod | undefined,
  credentials: Record<string, string>,
): Promise<void> {
  const { service, t, host } = flow;
  form.wait(t('signing_in'));
  host.event('credentials_submitted');
  const result = await service.signIn(credentials);
  form.wait(undefined);
  if (!isError(result)) return flow.finish(result);
  if (result.code !== 'emr_code_required') return showSignInError(flow, form, method, result);
  host.event('code_required');
  askCode(flow, credentials);
}

/** Shows the error at the form. If saved credentials were rejected, asks for new ones. */
function showSignInError(flow: Flow, form: Form, method: SignInMethod | undefined, result: ErrorResult): void {
  const fields = listFields(flow, method);
  const rejected = rejections.includes(result.code);
  if (!rejected || !fields.some(({ known }) => known)) {
    fail(flow, form, result, { at: rejected ? fieldAtFault(fields, result.code)?.name : undefined, method });
    return;
  }
  for (const field of fields) field.known = false;
  flow.host.event('error', result.code);
  const names = fields.map(({ name }) => name);
  askCredentials(flow, names, flow.t(method ? 'lead_update_method' : 'lead_update_password'), method);
}

/** Errors that another input can correct. */
const rejections = ['emr_credentials_wrong', 'emr_access_refused', 'emr_client_refused', 'emr_secret_refused'];

function fieldAtFault(fields: Session['fields'], code: string): Session['fields'][number] | undefined {
  const secrets = fields.filter(({ secret }) => secret);
  const secret = secrets.find(({ optional }) => !optional) ?? (code === 'emr_secret_refused' ? secrets[0] : undefined);
  return (code === 'emr_client_refused' ? undefined : secret) ?? fields[0];
}

function askCode(flow: Flow, credentials: Record<string, string>): void {
  const { session, t, card, service, host } = flow;
  const again = async () => {
    form.wait(t('sending_code'));
    const result = await service.signIn(credentials);
    form.wait(undefined);
    if (!isError(result)) return flow.finish(result);
    if (result.code !== 'emr_code_required') return fail(flow, form, result, { at: 'code' });
    host.event('code_resent');
    form.inform(t('sent_again'));
  };
  const code_input: Input = {
    name: 'code',
    label: t('code'),
    value: '',
    autocomplete: 'one-time-code',
    kind: 'code',
    digits: session.code_digits,
  };
  const parts: FormParts = {
    title: t('code_title'),
    lead: t(session.resend_code ? 'code_lead_sent' : 'code_lead'),
    facts: [],
    inputs: [code_input],
    hint: session.codes_page === null ? undefined : { text: t('code_hint'), url: session.codes_page },
    submit: t('check_code'),
    others: [
      ...(session.resend_code ? [{ label: t('send_again'), press: () => void again() }] : []),
      { label: t('back'), press: () => askSignIn(flow) },
    ],
    send: async ({ code = '' }) => {
      if (code.trim() === '') return form.interrupt(t('missing_code'), 'code');
      form.wait(t('checking_code'));
      host.event('code_submitted');
      const result = await service.signIn(credentials, code.trim());
      form.wait(undefined);
      if (!isError(result)) return flow.finish(result);
      const at = result.code === 'emr_code_wrong' || result.code === 'emr_code_required' ? 'code' : undefined;
      fail(flow, form, result.code === 'emr_code_required' ? { code: 'emr_code_wrong' } : result, { at });
    },
  };
  const form = showForm(card, parts, t);
}

/** `at`: the name of the input that is at fault. */
type FailedInput = { at: string | undefined; method?: SignInMethod | undefined };

function fail(flow: Flow, form: Form, { code, message = '' }: ErrorResult, { at, method }: FailedInput): void {
  flow.host.event('error', code);
  // What the person agreed to is not what would happen.
  if (code.startsWith('consent_')) flow.restart(flow.t('consent_again'));
  // The link was used in another window.
  else if (code === 'link_token_invalid') flow.dead('used');
  else if (code.startsWith('link_')) flow.dead(code.slice('link_'.length));
  else if (page_errors.includes(code)) form.interrupt(errorText(flow, code, message));
  else form.fail({ text: errorText(flow, code, message), ...errorDetail(flow, code, message, method) }, at);
}
