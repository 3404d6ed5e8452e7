import { EmrFailure, type OperationName, type Operations } from '../connectors/connector.ts';

/** Learns what happens when an operation is used. */
export type OperationObserver = {
  worked: (name: OperationName) => Promise<void>;
  /** The server does not offer the operation to this account, whatever its input. */
  refused: (name: OperationName, failure: EmrFailure) => Promise<void>;
};

type Call = (...args: unknown[]) => Promise<unknown> | AsyncIterable<unknown>;
type Write = { send: (...args: unknown[]) => Promise<unknown>; find?: unknown };

/**
 * The same operations, observed. A list that was read to its end is not reported: whoever reads it knows the number of
 * records. Neither is `find`, which looks a write up and does not prove that it can be sent.
 */
export function watchOperations(operations: Partial<Operations>, observer: OperationObserver): Partial<Operations> {
  const watched = Object.entries(operations).map(([key, operation]) => {
    // The type of the operations allows no other keys.
    const name = key as OperationName;
    if (typeof operation !== 'function') {
      const write = operation as Write;
      const send = (...args: unknown[]) => observe(observer, name, write.send(...args));
      return [name, { ...write, send }];
    }
    const call = operation as Call;
    const observed = (...args: unknown[]) => {
      const result = call(...args);
      return Symbol.asyncIterator in result ? observePages(observer, name, result) : observe(observer, name, result);
    };
    // A list says in a property whether it can list changes alone.
    return [name, Object.assign(observed, operation)];
  });
  return Object.fromEntries(watched);
}

async function observe<T>(observer: OperationObserver, name: OperationName, result: Promise<T>): Promise<T> {
  const value = await result.catch((error: unknown) => rethrow(observer, name, error));
  await observer.worked(name);
  return value;
}

async function* observePages(observer: OperationObserver, name: OperationName, pages: AsyncIterable<unknown>) {
  try {
    yield* pages;
  } catch (error) {
    await rethrow(observer, name, error);
  }
}

async function rethrow(observer: OperationObserver, name: OperationName, error: unknown): Promise<never> {
  if (error instanceof EmrFailure && error.not_offered) await observer.refused(name, error);
  throw error;
}
