import { EmrFailure, type EmrFailureKind } from '../connectors/connector.ts';
import { Broken, broken, NotTried } from './broken.ts';
import type { Stand } from './environment.ts';

/** One thing that every connector owes. It keeps quiet where the promise is kept, and throws where it is not. */
export type Check = { id: string; promise: string; run: (stand: Stand) => Promise<void> };

/** The failure a call ends with, which must be one of these kinds. */
export async function failureOf(
  stand: Stand,
  doing: string,
  work: () => Promise<unknown>,
  kinds: readonly EmrFailureKind[],
): Promise<EmrFailure> {
  const failure = await stand.watch(work()).then(
    () => broken(`${doing}: ended as if all were well, not as ${kinds.join(' or ')}`),
    (error: unknown) => error,
  );
  if (failure instanceof Broken || failure instanceof NotTried) throw failure;
  if (!(failure instanceof EmrFailure)) return broken(`${doing}: threw ${nameOf(failure)} instead of an EmrFailure`);
  if (!kinds.includes(failure.kind)) broken(`${doing}: ended as ${failure.kind}, not as ${kinds.join(' or ')}`);
  return failure;
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}
