import { type Card, showNotice } from './card.ts';
import { type Form, type Input, showForm } from './form.ts';
import type { Host } from './host.ts';
import { isRefused, type Linked, type openService, type Session } from './service.ts';
import type { Say, TextName } from './texts.ts';

type World = {
  session: Session;
  service: ReturnType<typeof openService>;
  host: Host;
  hosted: boolean;
  card: Card;
  say: Say;
  /** The link is no good any more. */
  dead: (reason: string) => void;
};

/** The steps from the first field to the linked account. What was typed lives here, and nowhere else. */
export function runLink(world: World): void {
  const { session } = world;
  const asked = session.fields.filter((field) => !field.known);
  if (session.update && asked.length === 0) askToReconnect(world);
  else
    askCredentials(
      world,
      asked.map(({ name }) => name),
      world.say(session.update ? 'lead_update' : 'lead'),
    );
}

/** Everything is known: one press, so that nobody is signed in by merely looking at a page. */
function askToReconnect(world: World): void {
  const { session, say, card } = world;
  const account = session.fields.flatMap(({ value }): [string, string][] =>
    value === null ? [] : [[say('known_account'), value]],
  );
  const form = showForm(card, {
    title: say('title_update'),
    lead: say('lead_update'),
    facts: [...account, ...facts(world)],
    inputs: [],
    submit: say('reconnect'),
    send: () => void signIn(world, form, {}),
  });
}

function askCredentials(world: World, asked: string[], lead: string): Form {
  const { session, say, card } = world;
  const inputs = session.fields
    .filter(({ name }) => asked.includes(name))
    .map(({ name, label, secret, autocomplete, value }): Input => {
      const kind = secret ? 'password' : 'text';
      return { name, label: labelOf(world, label, autocomplete), value: value ?? '', autocomplete, kind };
    });
  const form = showForm(card, {
    title: say(session.update ? 'title_update' : 'title'),
    lead,
    facts: facts(world),
    inputs,
    reveal: {
      show: { label: say('show'), text: say('show_password') },
      hide: { label: say('hide'), text: say('hide_password') },
    },
    submit: say('sign_in'),
    note: say('privacy'),
    send: (values) => {
      const empty = inputs.find(({ name }) => !values[name]);
      if (empty) form.fail(say('missing_field'), empty.name);
      else {
        // Kept for whoever comes back to this step from a later one.
        for (const field of session.fields) if (!field.secret) field.value = values[field.name] ?? field.value;
        void signIn(world, form, values);
      }
    },
  });
  return form;
}

/** The connector's own label in English; the fields that every EMR has are known in every language. */
function labelOf({ say, session }: World, label: string, autocomplete: string): string {
  if (session.language === 'en') return label;
  if (autocomplete === 'username') return say('username');
  return autocomplete === 'current-password' ? say('password') : label;
}

function facts({ session, say }: World): [string, string][] {
  return [
    [say('organisation'), session.organisation],
    [say('address'), session.emr_host],
  ];
}

async function signIn(world: World, form: Form, credentials: Record<string, string>): Promise<void> {
  const { service, say, host, session } = world;
  form.wait(say('signing_in'));
  host.event('credentials_submitted');
  const answer = await service.signIn(credentials);
  form.wait(undefined);
  if (!isRefused(answer)) return finish(world, answer);
  if (answer.code === 'emr_code_required') {
    host.event('code_required');
    return askCode(world, credentials);
  }
  if (answer.code !== 'emr_credentials_wrong') return fail(world, form, answer.code);
  const secret = session.fields.find((field) => field.secret)?.name;
  if (!session.fields.some(({ known }) => known)) return fail(world, form, answer.code, secret);
  // What was stored is wrong: now it has to be typed.
  for (const field of session.fields) field.known = false;
  host.event('error', answer.code);
  const every = session.fields.map(({ name }) => name);
  askCredentials(world, every, say('lead_update_password'));
}

function askCode(world: World, credentials: Record<string, string>): void {
  const { session, say, card, service, host } = world;
  const again = async () => {
    form.wait(say('sending_code'));
    const answer = await service.signIn(credentials);
    form.wait(undefined);
    if (!isRefused(answer)) return finish(world, answer);
    if (answer.code !== 'emr_code_required') return fail(world, form, answer.code, 'code');
    host.event('code_resent');
    form.say(say('sent_again'));
  };
  const form = showForm(card, {
    title: say('code_title'),
    lead: say(session.resend_code ? 'code_lead_sent' : 'code_lead'),
    facts: [],
    inputs: [{ name: 'code', label: say('code'), value: '', autocomplete: 'one-time-code', kind: 'code' }],
    submit: say('check_code'),
    others: [
      ...(session.resend_code ? [{ label: say('send_again'), press: () => void again() }] : []),
      { label: say('back'), press: () => runLink(world) },
    ],
    send: async ({ code = '' }) => {
      if (code.trim() === '') return form.fail(say('missing_code'), 'code');
      form.wait(say('checking_code'));
      host.event('code_submitted');
      const answer = await service.signIn(credentials, code.trim());
      form.wait(undefined);
      if (!isRefused(answer)) return finish(world, answer);
      const at = answer.code === 'emr_code_wrong' || answer.code === 'emr_code_required' ? 'code' : undefined;
      fail(world, form, answer.code === 'emr_code_required' ? 'emr_code_wrong' : answer.code, at);
    },
  });
}

const worded: Record<string, TextName> = {
  emr_credentials_wrong: 'emr_credentials_wrong',
  emr_code_wrong: 'emr_code_wrong',
  emr_locked: 'emr_locked',
  emr_unavailable: 'emr_unavailable',
  emr_sign_in_refused: 'emr_sign_in_refused',
  emr_name_mismatch: 'emr_mismatch',
  emr_domain_mismatch: 'emr_mismatch',
  missing_field: 'missing_field',
  rate_limited: 'rate_limited',
  offline: 'offline',
};

function fail(world: World, form: Form, code: string, at?: string): void {
  world.host.event('error', code);
  // Another window was faster with the same link.
  if (code === 'link_token_invalid') world.dead('used');
  else if (code.startsWith('link_')) world.dead(code.slice('link_'.length));
  else form.fail(world.say(worded[code] ?? 'trouble'), at);
}

function finish({ host, hosted, card, say }: World, { public_token, return_to }: Linked): void {
  host.event('linked');
  const returning = hosted && return_to !== null;
  const text = !hosted ? 'linked' : returning ? 'linked_returning' : 'linked_close_window';
  showNotice(card, {
    drawing: 'check',
    tone: 'good',
    title: say('linked_title'),
    text: say(text),
    button: hosted ? undefined : { label: say('done'), press: host.close },
  });
  if (public_token !== null) host.linked(public_token);
  if (returning) location.replace(return_to);
}
