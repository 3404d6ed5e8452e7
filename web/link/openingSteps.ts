import { type Card, showNotice } from './card.ts';
import { showConsent } from './consent.ts';
import type { Host } from './host.ts';
import { type createService, isError, type Session } from './service.ts';
import type { Language, Translate } from './texts.ts';
import { errorText, facts, findPicture, problemText, shared } from './wording.ts';

/** What all steps share. */
export type Flow = {
  session: Session;
  service: ReturnType<typeof createService>;
  host: Host;
  hosted: boolean;
  card: Card;
  language: Language;
  t: Translate;
  /** Why the consent is asked for again. */
  warning?: string | undefined;
  /** The link can no longer be used. */
  dead: (reason: string) => void;
  /** Reads the link again and starts over, for a reason that is shown if there is one. */
  restart: (warning?: string) => void;
};

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
  });
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
