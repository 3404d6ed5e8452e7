import type { RequestOptions, Transport } from './transport.ts';

type Pagination = { page: number; total_pages: number };

/**
 * A list. `await` returns one page as the service sends it; `for await` goes through the records of all pages. Nothing is
 * requested before that.
 */
export class PagePromise<Page extends object, Item> implements PromiseLike<Page>, AsyncIterable<Item> {
  readonly #load: (page: number | undefined) => Promise<Page>;
  readonly #items: string;
  #first: Promise<Page> | undefined;

  constructor(load: (page: number | undefined) => Promise<Page>, items: string) {
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
      const { pagination } = page as { pagination?: Pagination };
      if (!pagination || pagination.page >= pagination.total_pages) return;
      page = await this.#load(pagination.page + 1);
    }
  }

  #firstPage(): Promise<Page> {
    this.#first ??= this.#load(undefined);
    return this.#first;
  }
}

/** `items` is the field of the response with the records. */
export function list<Page extends object, Item>(
  transport: Transport,
  { path, query = {}, items }: { path: string; query?: object | undefined; items: string },
  options: RequestOptions | undefined,
): PagePromise<Page, Item> {
  const load = (page: number | undefined) =>
    transport.request<Page>({ method: 'GET', path, query: page === undefined ? query : { ...query, page } }, options);
  return new PagePromise(load, items);
}
