import type { Endpoint } from './endpoint.ts';

const segments_max = 8;

/**
 * Returns a function for the path of a request that no endpoint matches, as it may be logged. Of its segments only those
 * remain that occur in declared paths, or differ from one in case, plural or separator only: any other one could be an
 * MRN, a name or a token.
 */
export function pathMask(endpoints: readonly Endpoint[]): (url: string) => string {
  const known = new Set(endpoints.flatMap(({ path }) => path.split('/').map(fold)));
  return (url) => {
    const [path = ''] = url.split(/[?#]/);
    const segments = path.split('/').slice(1);
    const shown = segments.slice(0, segments_max).map((segment) => (isKnown(segment) ? segment : '{…}'));
    return `/${shown.join('/')}${segments.length > segments_max ? '/…' : ''}`;
  };

  function isKnown(segment: string): boolean {
    return segment === '' || (/^[\w-]{1,60}$/.test(segment) && known.has(fold(segment)));
  }
}

function fold(segment: string): string {
  return segment.toLowerCase().replaceAll('_', '-').replace(/s$/, '');
}
