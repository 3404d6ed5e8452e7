import { api_routes } from '../../service/api.gen.ts';
import type { RowOf } from '../../service/api.ts';

/** The path of a request, with ids masked. */
export function findPath({ endpoint, path }: RowOf<'requests.list'>): string {
  return path ?? (api_routes as Record<string, { path: string }>)[endpoint]?.path ?? endpoint;
}
