import { attackPromises } from './attacks.ts';
import { operationPromises } from './operation.ts';
import { jobPromises, webhookPromises } from './reliability.ts';
import { responsePromises } from './responses.ts';
import type { PromiseRow } from './row.ts';

/** The promises by section. `npm run soak` measures them; docs/reference/promises.md is generated from this list. */
export const sections: Record<string, readonly PromiseRow[]> = {
  'Nothing is lost, nothing is written twice': jobPromises,
  'Webhooks arrive': webhookPromises,
  'Attackers get nothing': attackPromises,
  'Responses are correct': responsePromises,
  'Operation under load and after failures': operationPromises,
};

export const promises: readonly PromiseRow[] = Object.values(sections).flat();
