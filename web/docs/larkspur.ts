import { credentials } from './credentials.ts';
import { make } from './elements.ts';
import { type Body, findEvent } from './events.ts';

/** Opens what a job wrote in the sandbox EMR, in a new tab, by a link that signs in once. */
export async function openInLarkspur(
  accepted: Body,
  { state, result, open }: { state: HTMLElement; result: HTMLElement; open: HTMLButtonElement },
): Promise<void> {
  open.disabled = true;
  state.className = 'status';
  state.textContent = 'Waiting for the job…';
  const event = await findEvent(accepted, state);
  const response = event && (await requestLink({ job_id: Number(accepted.job_id) }));
  open.disabled = false;
  if (!response) {
    state.textContent = 'The job is still running.';
    return;
  }
  if (response.url === undefined) {
    state.classList.add('bad');
    state.textContent = response.message ?? '';
    return;
  }
  state.textContent = '';
  const link = make('a', { href: response.url, target: '_blank', rel: 'noopener' }, 'Open Larkspur (works once)');
  // A browser opens a tab only soon after a click.
  if (navigator.userActivation?.isActive ?? true) link.click();
  else result.append(make('p', { class: 'once' }, link));
}

async function requestLink(body: { job_id: number }): Promise<{ url?: string; message?: string }> {
  const response = await fetch('/sandbox/larkspur/open', {
    method: 'POST',
    headers: { ...credentials(['client_id', 'client_secret']), 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return (await response.json()) as { url?: string; message?: string };
}
