import type { RequestOptions, Transport } from './transport.ts';

/** Most lists are numbered, or walked by `cursor` if the caller sent one. A list that grows at its start has `before`. */
type Position = {
  pagination?: { page?: number; total_pages?: number; next_cursor?: string | null };
  next?: string | null;
  /** The change feed always has a cursor. */
  next_cursor?: string;
  has_more?: boolean;
};
type Next = { page: number } | { cursor: string } | { before: string };

/**
 * A list. `await` returns one page as the service sends it; `for await` goes through the records of all pages. Nothing is
 * requested before that.
 */
export class PagePromise<Page extends object, Item> implements PromiseLike<Page>, AsyncIterable<Item> {
  readonly #load: (next: Next | undefined) => Promise<Page>;
  readonly #items: string;
  #first: Promise<Page> | undefined;

  constructor(load: (next: Next | undefined) => Promise<Page>, items: string) {
    this.#load = load;
    this.#items = items;
  }

  // biome-ignore lint/suspicious/noThenProperty: it is awaited like a promise
  then<A = Page, B = never>(
    onPage?: ((page: Page) => A | PromiseLike<A>) | null,
    onError?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#firstPage().then(onPage, onError);
  }

  catch<B>(onError: (reason: unknown) => B | PromiseLike<B>): Promise<Page | B> {
    return this.then(undefined, onError);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    let page = await this.#firstPage();
    for (;;) {
      // The generator of resources.gen.ts names the list of the response.
      yield* (page as Record<string, unknown>)[this.#items] as Item[];
      const next = findNext(page);
      if (!next) return;
      page = await this.#load(next);
    }
  }

  #firstPage(): Promise<Page> {
    this.#first ??= this.#load(undefined);
    return this.#first;
  }
}

function findNext({ pagination = {}, next, next_cursor: feed_cursor, has_more }: Position): Next | undefined {
  const { page, total_pages, next_cursor } = pagination;
  if (has_more && feed_cursor) return { cursor: feed_cursor };
  if (next_cursor) return { cursor: next_cursor };
  if (page !== undefined && total_pages !== undefined && page < total_pages) return { page: page + 1 };
  return next ? { before: next } : undefined;
}

type ListCall = { path: string; route?: string; query?: object | undefined; body?: object; items: string };

/** `items` is the field of the response with the records. A search has its filters and paging in the body. */
export function list<Page extends object, Item>(
  transport: Transport,
  { path, route, query, body, items }: ListCall,
  options: RequestOptions | undefined,
): PagePromise<Page, Item> {
  const load = (next: Next | undefined) =>
    transport.request<Page>(
      body === undefined
        ? { method: 'GET', path, ...(route && { route }), query: { ...query, ...next } }
        : { method: 'POST', path, query, body: { ...body, ...next }, reads: true },
      options,
    );
  return new PagePromise(load, items);
}
