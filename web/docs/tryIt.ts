import { codeBlock } from './code.ts';
import { all, make, one } from './elements.ts';
import { waitForEvent } from './events.ts';
import { findValue, storeResponse } from './formValues.ts';
import { listFields, type Request, readRequest } from './request.ts';
import { sampleFile } from './sampleFile.ts';

/** The response headers that are shown. */
const shown_headers = ['x-request-id', 'ratelimit-remaining', 'retry-after', 'idempotency-replayed', 'content-type'];

/** Shows the forms. Each is filled in when it is opened. */
export function showForms(): void {
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
      void submit(form, state, result);
    });
  }
}

/** Fills in values that differ by installation, unless the reader has changed them. */
async function fill(form: HTMLFormElement): Promise<void> {
  for (const input of all('input[data-in="file"]', HTMLInputElement, form)) {
    if (input.files?.length) continue;
    const transfer = new DataTransfer();
    transfer.items.add(sampleFile());
    input.files = transfer.files;
  }
  const sources = JSON.parse(form.dataset.found ?? '{}') as Record<string, string>;
  for (const [name, source] of Object.entries(sources)) {
    const value = await findValue(source);
    if (value === undefined || value === null) continue;
    const field = listFields(form).find((each) => each.name === name && each.dataset.in !== 'body');
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

async function submit(form: HTMLFormElement, state: HTMLElement, result: HTMLElement): Promise<void> {
  if (form.dataset.confirm && !(await isConfirmed(form.dataset.confirm))) return;
  const button = one('.send', HTMLButtonElement, form);
  if (button) button.disabled = true;
  state.className = 'status';
  state.textContent = 'Sending…';
  result.replaceChildren();
  try {
    await send(readRequest(form), form, state, result);
  } catch (error) {
    state.classList.add('bad');
    state.textContent = `Request failed: ${error instanceof Error ? error.message : String(error)}`;
  } finally {
    if (button) button.disabled = false;
  }
}

async function send(request: Request, form: HTMLFormElement, state: HTMLElement, result: HTMLElement): Promise<void> {
  const { method, url, headers, body } = request;
  const started = performance.now();
  const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) });
  const text = await response.text();
  const took_ms = Math.round(performance.now() - started);
  state.classList.add(response.ok ? 'good' : 'bad');
  state.textContent = `${response.status} ${response.statusText} in ${took_ms} ms`;
  const parsed = parse(text);
  const headers_shown = shown_headers.filter((name) => response.headers.has(name));
  result.append(
    make(
      'dl',
      { class: 'headers' },
      ...headers_shown.flatMap((name) => [make('dt', {}, name), make('dd', {}, response.headers.get(name) ?? '')]),
    ),
    codeBlock('Response', parsed === undefined ? text : JSON.stringify(parsed, null, 2), parsed !== undefined),
  );
  if (!response.ok || parsed === undefined) return;
  storeResponse(method, form.dataset.path ?? '', parsed);
  const accepted = parsed as Record<string, unknown>;
  // A dry run has no event.
  if (form.dataset.events && accepted.dry_run !== true) showEventButton(accepted, result);
}

function showEventButton(accepted: Record<string, unknown>, result: HTMLElement): void {
  const button = make('button', { type: 'button', class: 'wait' }, 'Wait for event');
  const state = make('p', { class: 'status', role: 'status' });
  result.append(button, state);
  button.addEventListener('click', async () => {
    button.disabled = true;
    await waitForEvent(accepted, state, result);
    button.hidden = true;
  });
}

/** Escape and Cancel mean no. */
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
