import type { OperationName } from '../connector.ts';
import { needs } from './needs.ts';
import type { Capabilities } from './transport/capabilities.ts';

/** The operations that this very server can do. */
export function offersOf(capabilities: Capabilities): OperationName[] {
  const offered = Object.entries(needs).filter(([, all]) =>
    all.every(({ type, interactions, params = [], whole }) => {
      const [able, known] = [capabilities.interactions(type), capabilities.searchParams(type)];
      // Without versions a change of others could be undone unseen, so no update is offered.
      const safe = !interactions.includes('update') || capabilities.versionedUpdate(type);
      const searchable = params.every((names) => names.split('|').some((name) => known.has(name)));
      return safe && searchable && (!whole || capabilities.lists(type)) && interactions.every((each) => able.has(each));
    }),
  );
  // The keys of the table are names of operations; TypeScript gives them back as texts.
  return offered.map(([name]) => name as OperationName);
}
