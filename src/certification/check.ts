import { EmrFailure, type EmrFailureKind } from '../connectors/connector.ts';
import type { Environment } from './environment.ts';

/** One thing that every connector owes. It keeps quiet where the promise is kept, and throws where it is not. */
export type Check = { id: string; promise: string; run: (env: Environment) => Promise<void> };

/** The failure a call ends with, which must be one of these kinds. */
export async function failureOf(
  env: Environment,
  doing: string,
  work: () => Promise<unknown>,
  kinds: readonly EmrFailureKind[],
): Promise<EmrFailure> {
  const failure = await env.watch(work()).then(
    () => fail(`${doing}: ended as if all were well, not as ${kinds.join(' or ')}`),
    (error: unknown) => error,
  );
  if (failure instanceof CheckFailed || failure instanceof CheckSkipped) throw failure;
  if (!(failure instanceof EmrFailure)) return fail(`${doing}: threw ${nameOf(failure)} instead of an EmrFailure`);
  if (!kinds.includes(failure.kind)) fail(`${doing}: ended as ${failure.kind}, not as ${kinds.join(' or ')}`);
  return failure;
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}

/** The promise is not kept; the text says what happened instead, without a value of a record. */
export class CheckFailed extends Error {}

/** It cannot be tried here, or not without doing harm. */
export class CheckSkipped extends Error {}

export function fail(what: string): never {
  throw new CheckFailed(what);
}

export function skip(why: string): never {
  throw new CheckSkipped(why);
}
