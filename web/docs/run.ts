import { parseCurl } from './curl.ts';
import { all, make, one } from './elements.ts';
import { putJobId } from './personal.ts';
import { type Outcome, scrollTo, sendAndShow, showNextSteps } from './response.ts';

/** A button beside each request of a guide, which sends it and shows the response below. Only in the sandbox. */
export function showRunButtons(): void {
  for (const block of all('figure[data-run]', HTMLElement)) {
    const caption = one('figcaption', HTMLElement, block);
    const code = one('code', HTMLElement, block);
    if (!caption || !code) continue;
    const button = make('button', { type: 'button', class: 'run' }, 'Run');
    const outcome = { state: make('p', { class: 'status', role: 'status' }), result: make('div', { class: 'result' }) };
    caption.append(button);
    const ran = make('div', { class: 'ran' }, outcome.state, outcome.result);
    block.after(ran);
    button.addEventListener('click', async () => {
      // Not `disabled`, which would move the focus away from the button.
      if (button.ariaBusy === 'true') return;
      button.ariaBusy = 'true';
      await run(code, outcome);
      button.ariaBusy = 'false';
      button.textContent = 'Run again';
      scrollTo(ran, 'nearest');
    });
  }
}

async function run(code: HTMLElement, outcome: Outcome): Promise<void> {
  const request = parseCurl(code.textContent ?? '');
  const response = await sendAndShow(request, outcome);
  if (response?.job_id !== undefined) {
    putJobId(response.job_id);
    if (request.method !== 'GET') showNextSteps(response, outcome);
  }
  if (typeof response?.url === 'string') showLink(response.url, outcome);
}

/** A response that is a link of the sandbox EMR. */
function showLink(url: string, { result }: Outcome): void {
  const link = make(
    'a',
    { class: 'button', href: url, target: '_blank', rel: 'noopener' },
    'Open Larkspur (works once)',
  );
  result.append(make('div', { class: 'next' }, link));
}
