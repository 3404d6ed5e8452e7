import type { Card } from './card.ts';
import type { Host } from './host.ts';
import type { createService, Linked, Session } from './service.ts';
import type { Language, Translate } from './texts.ts';

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
  /** The sign-in opens the practice page and links nothing: what is entered is not stored. */
  practice_page: boolean;
  /** Called after the sign-in. */
  finish: (linked: Linked) => void;
  /** The link can no longer be used. */
  dead: (reason: string) => void;
  /** Reads the link again and starts over, for a reason that is shown if there is one. */
  restart: (warning?: string) => void;
};
