import { codeBlock } from './code.ts';
import { credentials } from './credentials.ts';
import { make } from './elements.ts';
import { type Body, waitForEvent } from './events.ts';
import { openInLarkspur } from './larkspur.ts';
import type { Request } from './request.ts';

/** Where the outcome of a request is shown: a line that screen readers announce, and the response below it. */
export type Outcome = { state: HTMLElement; result: HTMLElement };

/** The response headers that are shown. */
const shown_headers = ['x-request-id', 'ratelimit-remaining', 'retry-after', 'idempotency-replayed', 'content-type'];

/** Sends a request and shows its response. Returns the body of a successful one. */
export async function sendAndShow(request: Request, { state, result }: Outcome): Promise<Body | undefined> {
  state.className = 'status';
  state.textContent = 'Sending…';
  result.replaceChildren();
  try {
    return await show(request, { state, result });
  } catch (error) {
    state.classList.add('bad');
    state.textContent = `Request failed: ${error instanceof Error ? error.message : String(error)}`;
    return undefined;
  }
}

async function show({ method, url, headers, body }: Request, { state, result }: Outcome): Promise<Body | undefined> {
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
  return response.ok ? parsed : undefined;
}

/** What can be done next with an accepted write: see its event, its job, and in the sandbox what the EMR has now. */
export function showNextSteps(accepted: Body, { result }: Outcome): void {
  const wait = make('button', { type: 'button', class: 'wait' }, 'Wait for event');
  const state = make('p', { class: 'status', role: 'status' });
  const steps = make('div', { class: 'next' }, wait);
  const { client_id } = credentials(['client_id']);
  if (accepted.job_id !== undefined && client_id !== undefined) {
    const address = `/dashboard/clients/${encodeURIComponent(client_id)}/jobs/${String(accepted.job_id)}`;
    steps.append(make('a', { class: 'button', href: address, target: '_blank', rel: 'noopener' }, 'Open the job'));
    if ('sandbox' in document.body.dataset) {
      const open = make('button', { type: 'button', class: 'larkspur' }, 'Open in Larkspur');
      open.addEventListener('click', () => void openInLarkspur(accepted, { state, result, open }));
      steps.append(open);
    }
  }
  result.append(steps, state);
  wait.addEventListener('click', async () => {
    wait.disabled = true;
    await waitForEvent(accepted, state, result);
    wait.hidden = true;
    scrollTo(result.lastElementChild ?? state, 'nearest');
  });
}

/** Brings an outcome into view, which can be below the edge of its panel or of the window. */
export function scrollTo(outcome: Element, block: ScrollLogicalPosition): void {
  const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
  outcome.scrollIntoView({ block, behavior: still ? 'instant' : 'smooth' });
}

function parse(text: string): Body | undefined {
  try {
    return JSON.parse(text) as Body;
  } catch {
    return undefined;
  }
}
