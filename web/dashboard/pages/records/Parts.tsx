import { Paper, Stack, Title } from '@mantine/core';
import { Empty } from '../../parts/Empty.tsx';
import { Fields } from '../../parts/Fields.tsx';
import { worded } from './words.ts';

/** One part of a record, or several of a kind, with all their values by name. */
export function Parts({ title, of }: { title: string; of: object | readonly object[] }) {
  const parts: readonly object[] = Array.isArray(of) ? of : [of];
  return (
    <section aria-label={title}>
      <Title order={3} size="h5" mb="xs">
        {title}
        {Array.isArray(of) && of.length > 1 ? ` (${of.length})` : ''}
      </Title>
      {parts.length === 0 && <Empty>None.</Empty>}
      <Stack gap="sm">
        {parts.map((part) => (
          <Paper key={JSON.stringify(part)} withBorder p="md">
            <Fields of={{ ...worded(part), ...listed(part) }} />
          </Paper>
        ))}
      </Stack>
    </section>
  );
}

/** Lists of plain values, such as codes, are read in a row. */
function listed(part: object): Record<string, string> {
  const lists = Object.entries(part).filter(
    (pair): pair is [string, string[]] => Array.isArray(pair[1]) && pair[1].every((each) => typeof each === 'string'),
  );
  return Object.fromEntries(
    lists.map(([name, values]) => [Object.keys(worded({ [name]: '' }))[0] ?? name, values.join(', ')]),
  );
}
