import { type ApiError, apiError } from '../../catalog/errors.ts';
import { fold } from '../../model/fold.ts';
import type { VisitCode } from '../../model/records/visitTypes.ts';
import type { Database, Query, Tx } from '../../platform/db/database.ts';
import type { Scope } from './readRecords.ts';

/** More codes than this are not listed in an error message. */
const listed_max = 50;

export async function listVisitTypes(source: Database | Tx, scope: Scope): Promise<VisitCode[]> {
  const query = (sql: Query) => sql`SELECT doc ->> 'code' AS code, doc ->> 'description' AS description
    FROM visit_types WHERE organization_id = ${scope.organization_id} ORDER BY id`;
  return 'read' in source
    ? source.read<VisitCode>(scope.client_id, query)
    : [...(await source<VisitCode[]>`${query(source)}`)];
}

/**
 * The visit type that a request names by its code or description, in any letter case. Undefined if there is none, or
 * if several match and none of them exactly: a wrong guess would book or count another type.
 */
export function findVisitType(types: readonly VisitCode[], name: string): VisitCode | undefined {
  const exact = types.find(({ code }) => code === name);
  if (exact) return exact;
  const folded = fold(name);
  for (const key of ['code', 'description'] as const) {
    const [first, ...others] = types.filter((type) => fold(type[key]) === folded);
    if (first) return others.length === 0 ? first : undefined;
  }
  return undefined;
}

/** `or_all`: the field also takes the word `all`. */
export function unknownVisitType(
  field: string,
  path: string,
  types: readonly VisitCode[],
  { or_all }: { or_all: boolean },
): ApiError {
  const names = [...(or_all ? ['all'] : []), ...types.map(({ code }) => code)];
  const more = names.length - listed_max;
  const rule =
    names.length === 0
      ? `${path} is not possible, because the EMR lists no visit types`
      : `${path} must be one of: ${names.slice(0, listed_max).join(', ')}`;
  return apiError(
    'invalid_field',
    { rule: more > 0 ? `${rule} and ${more} others, which GET /v1/visit-types lists` : rule },
    { field },
  );
}
