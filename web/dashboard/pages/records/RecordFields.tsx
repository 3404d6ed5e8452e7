import { Paper, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { fieldLabel } from '../../parts/labels.ts';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { Fields } from '../../parts/values.tsx';

/** All fields of a record, or of each of its parts. */
export function RecordFields({ title, of }: { title: string; of: object | readonly object[] }) {
  const parts: readonly object[] = Array.isArray(of) ? of : [of];
  return (
    <section aria-label={title}>
      <Title order={3} size="h5" mb="xs">
        {title}
        {parts.length > 1 ? ` (${parts.length})` : ''}
      </Title>
      {parts.length === 0 && (
        <Text size="sm" c="dimmed">
          None
        </Text>
      )}
      <Stack gap="sm">
        {parts.map((part) => (
          <Paper key={JSON.stringify(part)} withBorder p="md">
            <Fields of={labeled(part)} />
          </Paper>
        ))}
      </Stack>
    </section>
  );
}

/** Values by label. Nested objects are left out, because they have a section of their own. */
function labeled(part: object): Record<string, ReactNode> {
  return Object.fromEntries(
    Object.entries(part).flatMap(([name, value]) => {
      const shown = display(value);
      return shown === undefined ? [] : [[fieldLabel(name), shown]];
    }),
  );
}

export function display(value: unknown): ReactNode {
  if (value === null) return '';
  if (typeof value === 'boolean') return value ? 'Yes' : 'No';
  if (typeof value === 'string' && /^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:\d\d)$/.test(value)) return <Timestamp at={value} />;
  if (typeof value === 'string' || typeof value === 'number') return value;
  return Array.isArray(value) && typeof value[0] === 'string' ? value.join(', ') : undefined;
}
