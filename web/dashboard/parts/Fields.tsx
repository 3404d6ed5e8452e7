import type { ReactNode } from 'react';

/** Names and values of one thing. What is null is shown as a dash, so that nobody takes a gap for a fault. */
export function Fields({ of }: { of: Record<string, ReactNode> }) {
  return (
    <dl className="fields">
      {Object.entries(of).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value === null || value === undefined || value === '' ? '–' : value}</dd>
        </div>
      ))}
    </dl>
  );
}
