import { awaitPage } from './awaitPage.ts';
import { type Card, showNotice } from './card.ts';
import { showChoice } from './choice.ts';
import { type Form, type Input, showForm } from './form.ts';
import type { Host } from './host.ts';
import { isRefused, type Linked, type openService, type Refused, type Session, type Way } from './service.ts';
import { isText, type Say } from './texts.ts';
import { worded } from './worded.ts';

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
  const { session, say } = world;
  const way = session.ways.find(({ name }) => name === session.way);
  if (session.ways.length > 0 && !way) {
    chooseWay(world);
    return;
  }
  const fields = fieldsOf(world, way);
  const asked = fields.filter((field) => !field.known && !field.optional);
  if (session.update && asked.length === 0) askToReconnect(world, way);
  else {
    const names = session.update ? asked : fields.filter((field) => !field.known);
    askCredentials(
      world,
      names.map(({ name }) => name),
      say(session.update ? 'lead_update' : 'lead'),
      way,
    );
  }
}

/** How the EMR is to let the service in, where it knows more than one way. */
function chooseWay(world: World): void {
  const { session, say, card } = world;
  showChoice(card, {
    title: say(session.update ? 'title_update' : 'title'),
    lead: say('lead_ways'),
    facts: facts(world),
    choices: session.ways.map((way) => ({
      label: wordOf(world, `way_${way.name}`, way.label),
      about: wordOf(world, `about_${way.name}`, way.about),
      press: () => askCredentials(world, way.fields, wordOf(world, `about_${way.name}`, way.about), way),
    })),
  });
}

/** Everything is known: one press, so that nobody is signed in by merely looking at a page. */
function askToReconnect(world: World, way: Way | undefined): void {
  const { say, card } = world;
  const account = fieldsOf(world, way).flatMap(({ value }): [string, string][] =>
    value === null ? [] : [[say('known_account'), value]],
  );
  const form = showForm(card, {
    title: say('title_update'),
    lead: say('lead_update'),
    facts: [...account, ...facts(world)],
    inputs: [],
    submit: say(way?.on_page ? 'open_page' : 'reconnect'),
    others: way ? [{ label: say('other_way'), press: () => chooseWay(world) }] : [],
    send: () => send(world, form, way, {}),
  });
}

function askCredentials(world: World, asked: string[], lead: string, way?: Way): Form {
  const { session, say, card } = world;
  const fields = session.fields.filter(({ name }) => asked.includes(name));
  const inputs = fields.map(({ secret, value, ...field }): Input => {
    const label = labelOf(world, field);
    return { ...field, label, value: value ?? '', kind: secret ? 'password' : 'text' };
  });
  const form = showForm(card, {
    title: say(session.update ? 'title_update' : 'title'),
    lead,
    facts: [...facts(world), ...told(world, way)],
    inputs,
    reveal: {
      show: { label: say('show'), text: say(way ? 'show_secret' : 'show_password') },
      hide: { label: say('hide'), text: say(way ? 'hide_secret' : 'hide_password') },
    },
    submit: say(way?.on_page ? 'open_page' : 'sign_in'),
    others: way ? [{ label: say('other_way'), press: () => chooseWay(world) }] : [],
    note: say(way ? 'privacy_way' : 'privacy'),
    send: (values) => {
      const empty = inputs.find(({ name, optional }) => !optional && !values[name]);
      if (empty) return form.interrupt(say('missing_field'), empty.name);
      // Kept for whoever comes back to this step from a later one.
      for (const field of fields) if (!field.secret) field.value = values[field.name] ?? field.value;
      send(world, form, way, values);
    },
  });
  return form;
}

/** What was typed goes to the service, with the way it belongs to; what was left empty does not. */
function send(world: World, form: Form, way: Way | undefined, values: Record<string, string>): void {
  const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''));
  const credentials = way ? { way: way.name, ...given } : given;
  if (way?.on_page) openPage(world, form, way, credentials);
  else void signIn(world, form, way, credentials);
}

let stopWaiting: (() => void) | undefined;

/** The EMR's own page in a window of its own: such pages refuse to be framed. */
function openPage(world: World, form: Form, way: Way, credentials: Record<string, string>): void {
  const { say, host, service } = world;
  stopWaiting?.();
  stopWaiting = awaitPage(service, credentials, {
    ended: (end) => {
      if (end === 'signed_in') void signIn(world, form, way, credentials);
      else refuse(world, form, way, end);
    },
    closed: () => {
      host.event('error', 'page_closed');
      form.interrupt(say('popup_closed'));
    },
  });
  host.event(stopWaiting ? 'page_opened' : 'error', stopWaiting ? undefined : 'page_blocked');
  if (stopWaiting) form.say(say('page_open'));
  else form.interrupt(say('popup_blocked'));
}

function fieldsOf({ session }: World, way: Way | undefined): Session['fields'] {
  return way ? session.fields.filter(({ name }) => way.fields.includes(name)) : session.fields;
}

/** What the EMR's administrator needs of us before this way works. */
function told({ say }: World, way: Way | undefined): [string, string][] {
  if (!way?.tells) return [];
  return [[say(way.tells.what === 'key_set' ? 'key_set' : 'return_address'), way.tells.value]];
}

/** The connector's own word in English; in other languages ours, where there is one. */
function wordOf({ session, say }: World, name: string, label: string): string {
  return session.language !== 'en' && isText(name) ? say(name) : label;
}

/** The connector's own label in English; the fields that every EMR has are known in every language. */
function labelOf(
  world: World,
  { name, label, autocomplete }: Omit<Session['fields'][number], 'secret' | 'value'>,
): string {
  const { say, session } = world;
  if (session.language === 'en') return label;
  if (autocomplete === 'username') return say('username');
  return autocomplete === 'current-password' ? say('password') : wordOf(world, `field_${name}`, label);
}

function facts({ session, say }: World): [string, string][] {
  return [
    [say('organization'), session.organization],
    [say('address'), session.emr_host],
  ];
}

async function signIn(
  world: World,
  form: Form,
  way: Way | undefined,
  credentials: Record<string, string>,
): Promise<void> {
  const { service, say, host } = world;
  form.wait(say('signing_in'));
  host.event('credentials_submitted');
  const answer = await service.signIn(credentials);
  form.wait(undefined);
  if (!isRefused(answer)) return finish(world, answer);
  if (answer.code !== 'emr_code_required') return refuse(world, form, way, answer);
  host.event('code_required');
  askCode(world, credentials);
}

/** What was typed is typed again where it was; what was stored and is no longer good has to be typed now. */
function refuse(world: World, form: Form, way: Way | undefined, answer: Refused): void {
  const fields = fieldsOf(world, way);
  const doubted = answer.code === 'emr_credentials_wrong' || answer.code === 'emr_access_refused';
  if (!doubted || !fields.some(({ known }) => known)) {
    const at = fields.find(({ secret, optional }) => secret && !optional) ?? fields[0];
    fail(world, form, answer, doubted ? at?.name : undefined);
    return;
  }
  for (const field of fields) field.known = false;
  world.host.event('error', answer.code);
  const names = fields.map(({ name }) => name);
  askCredentials(world, names, world.say(way ? 'lead_update_way' : 'lead_update_password'), way);
}

function askCode(world: World, credentials: Record<string, string>): void {
  const { session, say, card, service, host } = world;
  const again = async () => {
    form.wait(say('sending_code'));
    const answer = await service.signIn(credentials);
    form.wait(undefined);
    if (!isRefused(answer)) return finish(world, answer);
    if (answer.code !== 'emr_code_required') return fail(world, form, answer, 'code');
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
      if (code.trim() === '') return form.interrupt(say('missing_code'), 'code');
      form.wait(say('checking_code'));
      host.event('code_submitted');
      const answer = await service.signIn(credentials, code.trim());
      form.wait(undefined);
      if (!isRefused(answer)) return finish(world, answer);
      const at = answer.code === 'emr_code_wrong' || answer.code === 'emr_code_required' ? 'code' : undefined;
      fail(world, form, answer.code === 'emr_code_required' ? { code: 'emr_code_wrong' } : answer, at);
    },
  });
}

function fail(world: World, form: Form, { code, message = '' }: Refused, at?: string): void {
  world.host.event('error', code);
  // Another window was faster with the same link.
  if (code === 'link_token_invalid') world.dead('used');
  else if (code.startsWith('link_')) world.dead(code.slice('link_'.length));
  else if (left_page.includes(code)) form.interrupt(textOf(world, code, message));
  else form.fail(textOf(world, code, message), at);
}

/** How a sign-in on the EMR's page ends without fault of anything that was typed here. */
const left_page = ['emr_page_declined', 'emr_page_required', 'page_sign_in_unknown'];

/** Why an EMR refuses is for its administrator: the service's words for that are passed on as they are. */
function textOf({ say }: World, code: string, message: string): string {
  const text = say(worded[code] ?? 'trouble');
  const [, reason] = code === 'emr_sign_in_refused' ? message.split(/: (.*)/s) : [];
  return reason ? `${text} ${say('reason')} ${reason}` : text;
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
