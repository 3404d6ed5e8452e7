import { type RefObject, useEffect, useRef } from 'react';
import { useLocation } from 'wouter';

/**
 * For rows of tabs or links that scroll sideways on a phone: scrolls to the current one. `links`: how many there are, if
 * they are loaded after the page.
 */
export function useCurrentInView(links?: number): RefObject<HTMLDivElement | null> {
  const row = useRef<HTMLDivElement>(null);
  const [location] = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the location says which one is current, the number when it is there.
  useEffect(() => {
    const current = row.current?.querySelector('[aria-current="page"], [aria-selected="true"]');
    current?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [location, links]);
  return row;
}
