import { Anchor, Group, Paper, Text, Title } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';
import { Link } from 'wouter';
import { Icon } from './Icon.tsx';

/** The heading of a page, which is also the title of the window, and the actions of the whole page. */
export function PageTitle({
  children,
  actions,
  subtitle,
}: {
  children: string;
  actions?: ReactNode;
  subtitle?: ReactNode;
}) {
  useEffect(() => {
    document.title = `${children} · Chartwire`;
  }, [children]);
  return (
    <Group justify="space-between" align="flex-start" mb="lg">
      <div>
        <Title order={1} size="h2">
          {children}
        </Title>
        {subtitle && (
          <Text size="sm" c="dimmed" mt={4} component="div">
            {subtitle}
          </Text>
        )}
      </div>
      {actions && <Group gap="xs">{actions}</Group>}
    </Group>
  );
}

/** A section of a page with its own heading. Use `order` 3 inside a section of order 2. */
export function Section({ title, order = 2, children }: { title: string; order?: 2 | 3; children: ReactNode }) {
  return (
    <Paper withBorder p="md" component="section" aria-label={title}>
      <Title order={order} size={order === 2 ? 'h4' : 'h5'} mb="xs">
        {title}
      </Title>
      {children}
    </Paper>
  );
}

/** A page of the documentation, which is outside the dashboard. */
export function DocsLink({ path, children }: { path: string; children: string }) {
  return (
    <Anchor href={`/docs${path}`} inherit underline="always">
      {children}
    </Anchor>
  );
}

/** Shown instead of an empty list: says what to do next. `action` is the button that does it. */
export function EmptyState({ children, action }: { children: ReactNode; action?: ReactNode }) {
  return (
    <div className="empty">
      <Icon name="empty" size={28} />
      <Text size="sm" c="dimmed" maw={520}>
        {children}
      </Text>
      {action}
    </div>
  );
}

/** From one record back to the list of all. */
export function BackLink({ href, children }: { href: string; children: string }) {
  return (
    <Text size="sm" mb={4}>
      <Anchor component={Link} href={href} size="sm">
        {children}
      </Anchor>
    </Text>
  );
}
