import type { Group } from '../../model/groups.ts';
import type { Document, Operation } from '../../http/openapi/document.ts';
import { type DocPage, pages } from './navigation.ts';

export type Call = { method: string; path: string; operation: Operation };
export type Resource = { name: string; description: string; calls: Call[] };

/** The groups of a page with their operations, as far as this installation has them. */
export function resourcesOf(document: Document, groups: readonly Group[]): Resource[] {
  const calls: Call[] = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method, path, operation })),
  );
  return document.tags
    .filter(({ name }) => groups.some((group) => group === name))
    .map(({ name, description }) => ({
      name,
      description,
      calls: calls.filter(({ operation }) => operation.tags.includes(name)),
    }));
}

/** The pages of the reference that list operations. */
export function resourcePages(): { page: DocPage; groups: readonly Group[] }[] {
  return pages.flatMap((page) =>
    page.content !== 'overview' && 'groups' in page.content ? [{ page, groups: page.content.groups }] : [],
  );
}

/** The names of the headers that an operation needs. */
export function headersOf({ security }: Operation): string[] {
  return Object.keys(security[0] ?? {});
}

/** The heading of an event on the page of event types. */
export function eventAddress(type: string): string {
  return `/docs/reference/events#${type.replaceAll('.', '')}`;
}

/** The errors of an operation with an example body. */
export function errorsOf({ responses }: Operation): { status: string; code: string; body: { message: string } }[] {
  return Object.entries(responses)
    .filter(([status]) => status !== '200')
    .flatMap(([status, { content }]) =>
      Object.entries(content?.['application/json']?.examples ?? {}).map(([code, { value }]) => ({
        status,
        code,
        body: value as { message: string },
      })),
    );
}
