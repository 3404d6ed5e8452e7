import { Anchor, Button, Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { Icon, type IconName } from '../../parts/Icon.tsx';

/** One of several things with the same problem. */
export type ProblemItem = { key: string; href: string; name: string; detail?: ReactNode };

type Props = {
  icon: IconName;
  title: string;
  /** An outage, which stops everything behind it. */
  severe?: boolean;
  /** What is known: counts, times, places. */
  facts?: ReactNode;
  /** The words of the EMR or of a receiver. */
  words?: string | undefined;
  /** What to do. */
  children?: ReactNode;
  items?: readonly ProblemItem[];
  more?: ReactNode;
  href: string;
  action?: ReactNode;
};

/** A row of Needs attention: what is wrong, since when, why, and what to do about it. */
export function Problem({ icon, title, severe, facts, words, children, items = [], more, href, action }: Props) {
  return (
    <article className={severe ? 'problem severe' : 'problem'} aria-label={title}>
      <Icon name={icon} color="var(--mantine-color-error)" />
      <div className="problem-text">
        <Text size="sm" fw={600} className="breakable">
          {title}
        </Text>
        {facts && (
          <Text size="sm" className="breakable" component="div">
            {facts}
          </Text>
        )}
        {words && <blockquote className="words">{words}</blockquote>}
        {children && (
          <Text size="sm" c="dimmed" className="breakable" component="div">
            {children}
          </Text>
        )}
        <Items items={items} />
        {more && <div className="secondary">{more}</div>}
      </div>
      <Group gap="xs" className="problem-actions">
        {action}
        <Button component={Link} href={href} size="compact-sm" variant="default" aria-label={`View ${title}`}>
          View
        </Button>
      </Group>
    </article>
  );
}

/** More would hide the problems below. */
const shown_max = 3;

function Items({ items }: { items: readonly ProblemItem[] }) {
  if (items.length === 0) return null;
  const rest = items.slice(shown_max);
  return (
    <>
      <ItemList items={items.slice(0, shown_max)} />
      {rest.length > 0 && (
        <details className="more problem-rest">
          <summary>and {rest.length.toLocaleString()} more</summary>
          <ItemList items={rest} />
        </details>
      )}
    </>
  );
}

function ItemList({ items }: { items: readonly ProblemItem[] }) {
  return (
    <ul className="problem-items">
      {items.map(({ key, href, name, detail }) => (
        <li key={key}>
          <Anchor component={Link} href={href} size="sm" className="breakable">
            {name}
          </Anchor>
          {detail && <span className="secondary"> {detail}</span>}
        </li>
      ))}
    </ul>
  );
}
