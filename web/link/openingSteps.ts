import { showNotice } from './card.ts';
import { showConsent } from './consent.ts';
import { make } from './elements.ts';
import type { Flow } from './flow.ts';
import { findPractice } from './practiceSearch.ts';
import { isError } from './service.ts';
import { errorText, facts, findPicture, problemText, shared } from './wording.ts';

/** Said before anything is typed: nobody can sign in at this address. */
export function showProblem(flow: Flow): void {
  const { session, t, card, host } = flow;
  host.event('error', session.problem?.code);
  showNotice(card, {
    icon: 'alert',
    tone: 'plain',
    title: t('problem_title'),
    text: problemText(flow),
    button: { label: t('check_again'), press: () => flow.restart() },
    below: chooseAnother(flow).map(({ label, press }) => {
      const button = make('button', { type: 'button', class: 'quiet' }, label);
      button.addEventListener('click', press);
      return make('div', { class: 'others' }, button);
    }),
  });
}

/** Goes back to the search, if the person has found the practice there. */
function chooseAnother(flow: Flow): { label: string; press: () => void }[] {
  const { session, t } = flow;
  return session.finds_practice ? [{ label: t('choose_another'), press: () => findPractice(flow) }] : [];
}

/** The person agrees to what is shown, which is recorded, before `next`. */
export function askConsent(flow: Flow, terms_id: string, next: () => void): void {
  const { session, service, t, card, host, language } = flow;
  const form = showConsent(
    card,
    {
      title: t('consent_title'),
      lead: t('consent_lead'),
      picture: findPicture(flow),
      facts: facts(flow),
      shared: shared(flow),
      submit: t('continue'),
      others: chooseAnother(flow),
      warning: flow.warning,
      agree: async (text) => {
        form.wait(t('loading'));
        const result = await service.consent(terms_id, language, text);
        form.wait(undefined);
        if (isError(result)) {
          host.event('error', result.code);
          if (result.code === 'consent_outdated') flow.restart(t('consent_again'));
          else if (result.code.startsWith('link_')) flow.dead(result.code.slice('link_'.length));
          else form.warn({ text: errorText(flow, result.code, result.message ?? '') });
          return;
        }
        // Going back does not ask again.
        session.consent = { terms_id, required: false };
        host.event('consented');
        next();
      },
    },
    t,
  );
}
