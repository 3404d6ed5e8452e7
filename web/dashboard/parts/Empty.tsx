import { Paper, Text } from '@mantine/core';
import type { ReactNode } from 'react';

/** Nothing to show yet, and what to do next. */
export function Empty({ children }: { children: ReactNode }) {
  return (
    <Paper withBorder p="lg" my="sm">
      <Text c="dimmed">{children}</Text>
    </Paper>
  );
}
