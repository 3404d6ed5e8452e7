import { Group, Title } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';

/** The heading of a page, which is also the name of the window; actions of the whole page stand beside it. */
export function PageTitle({ children, actions }: { children: string; actions?: ReactNode }) {
  useEffect(() => {
    document.title = `${children} · Chartwire`;
  }, [children]);
  return (
    <Group justify="space-between" mb="md">
      <Title order={1} size="h2">
        {children}
      </Title>
      {actions && <Group gap="xs">{actions}</Group>}
    </Group>
  );
}
