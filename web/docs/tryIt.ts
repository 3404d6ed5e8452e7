import { codeBlock } from './code.ts';
import { all, make, one } from './elements.ts';
import { awaitEvent } from './events.ts';
import { findValue, remember } from './found.ts';
import { fieldsOf, type Request, requestOf } from './request.ts';
import { sampleFile } from './sampleFile.ts';

/** Headers of an answer that tell something; the others are left out. */
const telling = ['x-request-id', 'ratelimit-remaining', 'retry-after', 'idempotency-replayed', 'content-type'];

/** Shows the forms; each is filled when it is opened, and sends what it then holds. */
export function openForms(): void {
  for (const details of all('details.try', HTMLDetailsElement)) {
    const form = one('form', HTMLFormElement, details);
    const state = one('.status', HTMLElement, details);
    const result = one('.result', HTMLElement, details);
    if (!form || !state || !result) continue;
    details.hidden = false;
    details.addEventListener('toggle', () => {
      if (details.open) void fill(form);
    });
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void trySending(form, state, result);
    });
  }
}

/** Puts in what differs from one installation to the next; what somebody has written stays. */
async function fill(form: HTMLFormElement): Promise<void> {
  for (const input of all('input[data-in="file"]', HTMLInputElement, form)) {
    if (input.files?.length) continue;
    const transfer = new DataTransfer();
    transfer.items.add(sampleFile());
    input.files = transfer.files;
  }
  const found = JSON.parse(form.dataset.found ?? '{}') as Record<string, string>;
  for (const [name, source] of Object.entries(found)) {
    const value = await findValue(source);
    if (value === undefined || value === null) continue;
    const field = fieldsOf(form).find((each) => each.name === name && each.dataset.in !== 'body');
    if (field && field.value === '') field.value = String(value);
    if (!field) fillBody(form, name, value);
  }
}

function fillBody(form: HTMLFormElement, name: string, value: unknown): void {
  const [area] = all('textarea[data-in="body"]', HTMLTextAreaElement, form);
  if (!area || (area.value !== area.defaultValue && area.value !== area.dataset.filled)) return;
  const body = JSON.parse(area.value) as Record<string, unknown>;
  area.value = JSON.stringify({ ...body, [name]: value }, null, 2);
  area.dataset.filled = area.value;
}

async function trySending(form: HTMLFormElement, state: HTMLElement, result: HTMLElement): Promise<void> {
  if (form.dataset.confirm && !(await isConfirmed(form.dataset.confirm))) return;
  const button = one('.send', HTMLButtonElement, form);
  if (button) button.disabled = true;
  state.className = 'status';
  state.textContent = 'Sending …';
  result.replaceChildren();
  try {
    await send(requestOf(form), form, state, result);
  } catch (error) {
    state.classList.add('bad');
    state.textContent = `The request could not be sent: ${error instanceof Error ? error.message : String(error)}`;
  } finally {
    if (button) button.disabled = false;
  }
}

async function send(request: Request, form: HTMLFormElement, state: HTMLElement, result: HTMLElement): Promise<void> {
  const { method, url, headers, body } = request;
  const began = performance.now();
  const answer = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) });
  const text = await answer.text();
  const took_ms = Math.round(performance.now() - began);
  state.classList.add(answer.ok ? 'good' : 'bad');
  state.textContent = `${answer.status} ${answer.statusText} in ${took_ms} ms`;
  const parsed = parse(text);
  const shown = telling.filter((name) => answer.headers.has(name));
  result.append(
    make(
      'dl',
      { class: 'headers' },
      ...shown.flatMap((name) => [make('dt', {}, name), make('dd', {}, answer.headers.get(name) ?? '')]),
    ),
    codeBlock('Answer received', parsed === undefined ? text : JSON.stringify(parsed, null, 2), parsed !== undefined),
  );
  if (!answer.ok || parsed === undefined) return;
  remember(method, form.dataset.path ?? '', parsed);
  if (form.dataset.events) offerEvent(parsed as Record<string, unknown>, result);
}

function offerEvent(accepted: Record<string, unknown>, result: HTMLElement): void {
  const button = make('button', { type: 'button', class: 'wait' }, 'Wait for its event');
  const state = make('p', { class: 'status', role: 'status' });
  result.append(button, state);
  button.addEventListener('click', async () => {
    button.disabled = true;
    await awaitEvent(accepted, state, result);
    button.hidden = true;
  });
}

/** Asks in a dialog; Escape and Cancel mean no. */
function isConfirmed(question: string): Promise<boolean> {
  const dialog = one('#confirm', HTMLDialogElement);
  const text = one('#confirm\\.text', HTMLElement);
  if (!dialog || !text) return Promise.resolve(false);
  text.textContent = question;
  dialog.returnValue = '';
  for (const button of all('button', HTMLButtonElement, dialog)) button.onclick = () => dialog.close(button.value);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'send'), { once: true });
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
