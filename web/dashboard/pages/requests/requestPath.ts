import { api_routes } from '../../service/api.gen.ts';
import type { RowOf } from '../../service/api.ts';

type RequestRow = RowOf<'requests.list'>;

/** The path of a request: the one that was sent, if it is shown; else the endpoint's, with ids masked. */
export function findPath(request: RequestRow): string {
  return request.sent_path?.startsWith('/') ? request.sent_path : findPattern(request);
}

/** The path of the request's endpoint; of an unknown route, with everything masked that no endpoint has. */
export function findPattern({ endpoint, path }: RequestRow): string {
  return path ?? (api_routes as Record<string, { path: string }>)[endpoint]?.path ?? endpoint;
}
