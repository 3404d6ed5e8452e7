import type { Organization } from '../../service/types.ts';

type VisitType = NonNullable<Organization['settings']['visit_types']>[number];

/** One visit type per line: `5, Office visit, 15`. The minutes are optional, and a description may contain commas. */
export function parseVisitTypes(text: string): VisitType[] | null {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (lines.length === 0) return null;
  return lines.map((line) => {
    const [code = '', ...rest] = line.split(',').map((part) => part.trim());
    const minutes = rest.length > 1 && /^\d+$/.test(rest.at(-1) ?? '') ? Number(rest.pop()) : null;
    return { code, description: rest.join(', '), minutes };
  });
}

export function formatVisitTypes(types: readonly VisitType[]): string {
  return types
    .map(({ code, description, minutes }) => [code, description, ...(minutes === null ? [] : [minutes])].join(', '))
    .join('\n');
}
