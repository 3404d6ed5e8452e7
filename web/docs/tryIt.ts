import { all, one } from './elements.ts';
import { findValue, storeResponse } from './formValues.ts';
import { listFields, readRequest } from './request.ts';
import { type Outcome, scrollTo, sendAndShow, showNextSteps } from './response.ts';
import { sampleFile } from './sampleFile.ts';

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
      void submit(form, { state, result });
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

async function submit(form: HTMLFormElement, outcome: Outcome): Promise<void> {
  if (form.dataset.confirm && !(await isConfirmed(form.dataset.confirm))) return;
  const button = one('.send', HTMLButtonElement, form);
  if (button) button.disabled = true;
  const request = readRequest(form);
  const response = await sendAndShow(request, outcome);
  if (button) button.disabled = false;
  if (response) {
    storeResponse(request.method, form.dataset.path ?? '', response);
    // A dry run has no event.
    if (form.dataset.events && response.dry_run !== true) showNextSteps(response, outcome);
  }
  // The button lost the focus while it was disabled, and the response is below the edge of a long form.
  outcome.state.focus({ preventScroll: true });
  scrollTo(outcome.state, 'start');
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
