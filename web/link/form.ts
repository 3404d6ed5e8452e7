import type { Card } from './card.ts';
import { focusOn, icon, make, startAt } from './elements.ts';
import { drawFacts, type Fact } from './facts.ts';
import type { Translate } from './texts.ts';

export type Input = {
  name: string;
  label: string;
  value: string;
  autocomplete: string;
  kind: 'text' | 'password' | 'code';
  optional?: boolean;
  /** A code of this many digits is submitted as soon as it is complete. */
  digits?: number | null;
};

export type FormParts = {
  title: string;
  lead: string;
  /** The EMR's logo. */
  picture?: string | undefined;
  /** Read-only values above the inputs. */
  facts: Fact[];
  inputs: Input[];
  /** The button that shows and hides a password. */
  reveal?: Record<'show' | 'hide', { label: string; text: string }>;
  submit: string;
  others?: { label: string; press: () => void }[];
  note?: string;
  /** A hint below the inputs, with a link. */
  hint?: { text: string; url: string } | undefined;
  /** Shown below the form. */
  below?: Node[];
  send: (values: Record<string, string>) => void;
};

/** `detail` is for the administrator, shown below the message in small print; `value` is to be copied. */
export type ErrorText = { text: string; detail?: string; value?: string };

/** A form without inputs. */
export type ActionForm = {
  element: HTMLFormElement;
  submit: HTMLButtonElement;
  alert: HTMLElement;
  busy(): boolean;
  warn(error: ErrorText): void;
  /** Shows a status that is not an error. */
  inform(text: string): void;
  /** Disables the form and shows the text; undefined enables it again. */
  wait(text: string | undefined): void;
};

/** A form on the card. */
export type Form = Pick<ActionForm, 'inform' | 'wait'> & {
  /** Shows an error, clears passwords and focuses the input `at`. */
  fail(error: ErrorText, at?: string): void;
  /** Shows a message and keeps all input. */
  interrupt(text: string, at?: string): void;
};

/** A form with its message, button and status, but without inputs. */
export function drawAction(parts: { submit: string; describedby: string; send: () => void }): ActionForm {
  const alert = make('div', { class: 'message', role: 'alert', id: 'message' });
  const status = make('p', { class: 'status', role: 'status' });
  const label = make('span', {}, parts.submit);
  const submit = make('button', { type: 'submit', class: 'primary' }, spinner(), label);
  const element = make('form', { novalidate: '', 'aria-describedby': parts.describedby }, alert, submit, status);
  const busy = () => element.getAttribute('aria-busy') === 'true';
  element.addEventListener('submit', (event) => {
    event.preventDefault();
    if (!busy()) parts.send();
  });
  return {
    element,
    submit,
    alert,
    busy,
    warn: (error) => {
      alert.replaceChildren(icon('alert'), make('span', {}, error.text, ...drawDetail(error)));
      status.textContent = '';
    },
    inform: (text) => {
      alert.replaceChildren();
      status.classList.remove('visually-hidden');
      status.textContent = text;
    },
    wait: (text) => {
      element.setAttribute('aria-busy', String(text !== undefined));
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

export function showForm(card: Card, parts: FormParts, t: Translate): Form {
  const inputs = new Map(parts.inputs.map((each) => [each.name, drawInput(each)]));
  const action = drawAction({
    submit: parts.submit,
    describedby: 'lead',
    send: () => parts.send(Object.fromEntries([...inputs].map(([name, input]) => [name, input.value]))),
  });
  const { element: form, submit, alert } = action;
  const rows = parts.inputs.map((each) => drawRow(each, inputs.get(each.name), parts.reveal));
  submit.before(...rows, ...drawHint(parts.hint));
  const { others = [] } = parts;
  if (others.length > 0) form.append(drawOthers(others, action.busy));
  for (const { name, digits } of parts.inputs) if (digits) submitComplete(form, inputs.get(name), digits);

  card.show(
    ...(parts.picture ? [make('img', { src: parts.picture, alt: '', class: 'emr-logo' })] : []),
    make('h1', {}, parts.title),
    make('p', { class: 'lead', id: 'lead' }, parts.lead),
    ...drawFacts(parts.facts, t),
    form,
    ...drawNote(parts.note),
    ...(parts.below ?? []),
  );
  startAt([...inputs.values()].find((input) => input.value === '') ?? [...inputs.values()][0] ?? submit);

  const warn = (error: ErrorText, field: HTMLInputElement | undefined, invalid: boolean) => {
    action.warn(error);
    for (const input of inputs.values()) input.removeAttribute('aria-invalid');
    if (invalid) field?.setAttribute('aria-invalid', 'true');
    focusOn(field ?? submit);
    field?.select();
    // On a small screen, focusing the field may have scrolled the message out of view.
    alert.scrollIntoView({ block: 'nearest' });
  };
  return {
    inform: action.inform,
    wait: action.wait,
    interrupt: (text, at) => warn({ text }, at === undefined ? undefined : inputs.get(at), true),
    fail: (error, at) => {
      const secrets = [...inputs.values()].filter(({ dataset, value }) => dataset.secret && value !== '');
      for (const input of secrets) input.value = '';
      // A cleared password must be entered again, whatever the error was.
      warn(error, secrets[0] ?? (at === undefined ? undefined : inputs.get(at)), at !== undefined);
    },
  };
}

/** Buttons for other things than submitting. */
export function drawOthers(others: readonly { label: string; press: () => void }[], busy: () => boolean): HTMLElement {
  const buttons = others.map(({ label, press }) => {
    const button = make('button', { type: 'button', class: 'quiet' }, label);
    button.addEventListener('click', () => busy() || press());
    return button;
  });
  return make('div', { class: 'others' }, ...buttons);
}

/** Typed, pasted and filled-in codes alike. The same code is not submitted twice by itself. */
function submitComplete(form: HTMLFormElement, input: HTMLInputElement | undefined, digits: number): void {
  let submitted = '';
  input?.addEventListener('input', () => {
    // Authenticator apps show '123 456', and people copy the space.
    const code = input.value.replace(/\s/g, '');
    if (!/^\d+$/.test(code) || code.length !== digits || code === submitted) return;
    submitted = code;
    form.requestSubmit();
  });
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

function drawHint(hint: FormParts['hint']): Node[] {
  if (!hint) return [];
  const link = make('a', { href: hint.url, target: '_blank', rel: 'noopener noreferrer' }, hint.url);
  return [make('p', { class: 'hint' }, `${hint.text} `, link)];
}

function drawNote(note: string | undefined): Node[] {
  return note === undefined ? [] : [make('p', { class: 'note' }, icon('lock'), make('span', {}, note))];
}

function spinner(): HTMLElement {
  return make('span', { class: 'spinner', 'aria-hidden': 'true' });
}
