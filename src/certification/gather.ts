/** All rows of a list, page after page. */
export async function gather<T>(list: AsyncIterable<T[]>): Promise<T[]> {
  const all: T[] = [];
  for await (const page of list) all.push(...page);
  return all;
}
