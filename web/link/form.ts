import type { Card } from './card.ts';
import { focusOn, icon, make } from './elements.ts';

export type Input = {
  name: string;
  label: string;
  value: string;
  autocomplete: string;
  kind: 'text' | 'password' | 'code';
  optional?: boolean;
};

/** What is shared by submitting a form, shown above its inputs. */
export type Consent = { title: string; kinds: string[]; notes: string[] };

export type FormParts = {
  title: string;
  lead: string;
  /** The EMR's logo. */
  picture?: string | undefined;
  /** Read-only values above the inputs. */
  facts: [name: string, value: string][];
  consent?: Consent;
  inputs: Input[];
  /** The button that shows and hides a password. */
  reveal?: Record<'show' | 'hide', { label: string; text: string }>;
  submit: string;
  others?: { label: string; press: () => void }[];
  note?: string;
  send: (values: Record<string, string>) => void;
};

/** `detail` is for the administrator, shown below the message in small print; `value` is to be copied. */
export type ErrorText = { text: string; detail?: string; value?: string };

/** A form on the card. */
export type Form = {
  /** Shows an error, clears passwords and focuses the input `at`. */
  fail(error: ErrorText, at?: string): void;
  /** Shows a message and keeps all input. */
  interrupt(text: string, at?: string): void;
  /** Shows a status that is not an error. */
  inform(text: string): void;
  /** Disables the form and shows the text; undefined enables it again. */
  wait(text: string | undefined): void;
};

export function showForm(card: Card, parts: FormParts): Form {
  const inputs = new Map(parts.inputs.map((each) => [each.name, drawInput(each)]));
  const alert = make('div', { class: 'message', role: 'alert', id: 'message' });
  const status = make('p', { class: 'status', role: 'status' });
  const label = make('span', {}, parts.submit);
  const submit = make('button', { type: 'submit', class: 'primary' }, spinner(), label);
  const lead = make('p', { class: 'lead', id: 'lead' }, parts.lead);
  const described_by = parts.consent ? 'lead consent' : 'lead';
  const form = make('form', { novalidate: '', 'aria-describedby': described_by }, alert);
  for (const each of parts.inputs) form.append(drawRow(each, inputs.get(each.name), parts.reveal));
  form.append(submit, status);
  const others = (parts.others ?? []).map((each) => {
    const button = make('button', { type: 'button', class: 'quiet' }, each.label);
    button.addEventListener('click', () => busy() || each.press());
    return button;
  });
  if (others.length > 0) form.append(make('div', { class: 'others' }, ...others));

  const busy = () => form.getAttribute('aria-busy') === 'true';
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (busy()) return;
    parts.send(Object.fromEntries([...inputs].map(([name, input]) => [name, input.value])));
  });
  const picture = parts.picture ? [make('img', { src: parts.picture, alt: '', class: 'emr-logo' })] : [];
  const above = [
    ...picture,
    make('h1', {}, parts.title),
    lead,
    ...drawFacts(parts.facts),
    ...drawConsent(parts.consent),
  ];
  card.show(...above, form, ...drawNote(parts.note));
  focusOn([...inputs.values()].find((input) => input.value === '') ?? [...inputs.values()][0] ?? submit);

  const warn = (error: ErrorText, field: HTMLInputElement | undefined, invalid: boolean) => {
    alert.replaceChildren(icon('alert'), make('span', {}, error.text, ...drawDetail(error)));
    status.textContent = '';
    for (const input of inputs.values()) input.removeAttribute('aria-invalid');
    if (invalid) field?.setAttribute('aria-invalid', 'true');
    focusOn(field ?? submit);
    field?.select();
    // On a small screen, focusing the field may have scrolled the message out of view.
    alert.scrollIntoView({ block: 'nearest' });
  };
  return {
    interrupt: (text, at) => warn({ text }, at === undefined ? undefined : inputs.get(at), true),
    fail: (error, at) => {
      const secrets = [...inputs.values()].filter(({ dataset, value }) => dataset.secret && value !== '');
      for (const input of secrets) input.value = '';
      // A cleared password must be entered again, whatever the error was.
      warn(error, secrets[0] ?? (at === undefined ? undefined : inputs.get(at)), at !== undefined);
    },
    inform: (text) => {
      alert.replaceChildren();
      status.classList.remove('visually-hidden');
      status.textContent = text;
    },
    wait: (text) => {
      form.setAttribute('aria-busy', String(text !== undefined));
      submit.setAttribute('aria-disabled', String(text !== undefined));
      label.textContent = text ?? parts.submit;
      if (text === undefined) return;
      // An old message would be read as the new result.
      alert.replaceChildren();
      status.textContent = text;
      status.classList.add('visually-hidden');
    },
  };
}

export type Option = { label: string; description: string; press: () => void };

/** Shows a list of options as buttons. */
export function showOptions(
  card: Card,
  parts: { title: string; lead: string; facts: [name: string, value: string][]; options: Option[] },
): void {
  const buttons = parts.options.map(({ label, description, press }) => {
    const button = make(
      'button',
      { type: 'button', class: 'choice' },
      make('strong', {}, label),
      make('span', {}, description),
    );
    button.addEventListener('click', press);
    return button;
  });
  const list = make('ul', { class: 'choices' }, ...buttons.map((button) => make('li', {}, button)));
  card.show(make('h1', {}, parts.title), make('p', { class: 'lead' }, parts.lead), ...drawFacts(parts.facts), list);
  const [first] = buttons;
  if (first) focusOn(first);
}

function drawInput({ name, value, autocomplete, kind, optional }: Input): HTMLInputElement {
  const input = make('input', {
    id: `field-${name}`,
    name,
    type: kind === 'password' ? 'password' : 'text',
    autocomplete,
    autocapitalize: 'none',
    spellcheck: 'false',
    ...(optional ? {} : { required: '' }),
    'aria-describedby': 'message',
    ...(kind === 'code' ? { inputmode: 'numeric', class: 'code', maxlength: '20' } : { maxlength: '8000' }),
  });
  input.value = value;
  if (kind === 'password') input.dataset.secret = 'true';
  return input;
}

function drawRow(
  { name, label, kind }: Input,
  input: HTMLInputElement | undefined,
  reveal: FormParts['reveal'],
): HTMLElement {
  const row = make('div', { class: 'field' }, make('label', { for: `field-${name}` }, label));
  if (!input) return row;
  if (kind !== 'password' || !reveal) {
    row.append(input);
    return row;
  }
  const button = make('button', { type: 'button', class: 'reveal', 'aria-controls': input.id });
  const setLabel = ({ label, text }: { label: string; text: string }) => {
    button.setAttribute('aria-label', text);
    button.textContent = label;
  };
  setLabel(reveal.show);
  button.addEventListener('click', () => {
    const hidden = input.type === 'password';
    input.type = hidden ? 'text' : 'password';
    setLabel(hidden ? reveal.hide : reveal.show);
  });
  row.append(make('div', { class: 'with-button' }, input, button));
  return row;
}

function drawDetail({ detail, value }: ErrorText): Node[] {
  if (detail === undefined) return [];
  return [make('small', {}, detail, ...(value === undefined ? [] : [' ', make('code', {}, value)]))];
}

function drawConsent(consent: Consent | undefined): HTMLElement[] {
  if (!consent) return [];
  const title = make('h2', { id: 'consent.title' }, consent.title);
  const kinds = make('ul', {}, ...consent.kinds.map((text) => make('li', {}, text)));
  const notes = consent.notes.map((text) => make('p', {}, text));
  const attributes = { class: 'consent', id: 'consent', 'aria-labelledby': 'consent.title' };
  return [make('section', attributes, title, kinds, ...notes)];
}

function drawFacts(facts: FormParts['facts']): Node[] {
  if (facts.length === 0) return [];
  const rows = facts.map(([name, value]) => make('div', {}, make('dt', {}, name), make('dd', {}, value)));
  return [make('dl', { class: 'facts' }, ...rows)];
}

function drawNote(note: string | undefined): Node[] {
  return note === undefined ? [] : [make('p', { class: 'note' }, icon('lock'), make('span', {}, note))];
}

function spinner(): HTMLElement {
  return make('span', { class: 'spinner', 'aria-hidden': 'true' });
}
