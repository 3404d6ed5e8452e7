import { EmrFailure, type OperationName, type Operations } from '../../emr/connector.ts';
import { record_kinds } from '../../model/records/kinds.ts';

/** Observes what happens when an operation is used. */
export type OperationObserver = {
  /** Makes the call; for a list, once per page. */
  call: <T>(name: OperationName, work: () => Promise<T>) => Promise<T>;
  worked: (name: OperationName) => Promise<void>;
  /** The server does not offer the operation to this account, whatever its input. */
  refused: (name: OperationName, failure: EmrFailure) => Promise<void>;
};

type Call = (...args: unknown[]) => Promise<unknown>;
type ListCall = (...args: unknown[]) => AsyncIterable<unknown>;
type Write = { send: Call; find?: Call };

const listings: ReadonlySet<OperationName> = new Set(record_kinds.map(({ operation }) => operation));

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
      const { find } = write;
      return [
        name,
        {
          ...write,
          send: (...args: unknown[]) => observe(observer, name, () => write.send(...args)),
          ...(find && { find: (...args: unknown[]) => observer.call(name, () => find(...args)) }),
        },
      ];
    }
    const observed = listings.has(name)
      ? (...args: unknown[]) => observePages(observer, name, (operation as ListCall)(...args))
      : (...args: unknown[]) => observe(observer, name, () => (operation as Call)(...args));
    // A list says in a property whether it can list changes alone.
    return [name, Object.assign(observed, operation)];
  });
  return Object.fromEntries(watched);
}

async function observe<T>(observer: OperationObserver, name: OperationName, work: () => Promise<T>): Promise<T> {
  const value = await observer.call(name, work).catch((error: unknown) => rethrow(observer, name, error));
  await observer.worked(name);
  return value;
}

async function* observePages(observer: OperationObserver, name: OperationName, pages: AsyncIterable<unknown>) {
  const iterator = pages[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await observer.call(name, () => iterator.next());
      if (done) return;
      yield value;
    }
  } catch (error) {
    await rethrow(observer, name, error);
  } finally {
    // Also if the reader stopped early.
    await iterator.return?.();
  }
}

async function rethrow(observer: OperationObserver, name: OperationName, error: unknown): Promise<never> {
  if (error instanceof EmrFailure && error.not_offered) await observer.refused(name, error);
  throw error;
}
