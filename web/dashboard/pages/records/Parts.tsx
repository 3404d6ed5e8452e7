import { Paper, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { Fields } from '../../parts/Fields.tsx';
import { Moment } from '../../parts/Moment.tsx';
import { wordOf } from './words.ts';

/** One part of a record, or several of a kind, with all their values by name. */
export function Parts({ title, of }: { title: string; of: object | readonly object[] }) {
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
            <Fields of={worded(part)} />
          </Paper>
        ))}
      </Stack>
    </section>
  );
}

/** The values of a part by names that people read; what has parts of its own is shown apart. */
function worded(part: object): Record<string, ReactNode> {
  return Object.fromEntries(
    Object.entries(part).flatMap(([name, value]) => {
      const shown = say(value);
      return shown === undefined ? [] : [[wordOf(name), shown]];
    }),
  );
}

function say(value: unknown): ReactNode {
  if (value === null) return '';
  if (typeof value === 'boolean') return value ? 'Yes' : 'No';
  if (typeof value === 'string' && /^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:\d\d)$/.test(value)) return <Moment at={value} />;
  if (typeof value === 'string' || typeof value === 'number') return value;
  // Lists of plain values, such as codes, are read in a row.
  return Array.isArray(value) && typeof value[0] === 'string' ? value.join(', ') : undefined;
}
