import { Anchor, Code, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { DocsLink, EmptyState, Section } from '../../parts/layout.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { EventName } from '../../parts/values.tsx';
import { useQuery } from '../../service/queries.ts';
import { type EventType, eventReference, groupEventTypes, searchEventTypes } from './eventGroups.ts';

/** What the service can send: every event type, when it is sent, and where its fields are documented. */
export function EventCatalog() {
  const query = useQuery('eventTypes.list', {});
  const [search, setSearch] = useState('');
  return (
    <QueryResult query={query}>
      {({ event_types }) => {
        const shown = search.trim() === '' ? event_types : searchEventTypes(event_types, search.trim());
        return (
          <Stack>
            <Text size="sm">
              Every event has the same envelope, and is signed. <DocsLink path="/webhooks">How to verify it</DocsLink>.
            </Text>
            <TextInput
              label="Search"
              maw={360}
              value={search}
              onChange={({ currentTarget }) => setSearch(currentTarget.value)}
            />
            {groupEventTypes(shown).map(({ noun, label, types }) => (
              <Section key={noun} title={label}>
                <ul className="catalog">
                  {types.map((each) => (
                    <Entry key={each.type} of={each} />
                  ))}
                </ul>
              </Section>
            ))}
            {shown.length === 0 && <EmptyState>No event type matches. Change the search.</EmptyState>}
          </Stack>
        );
      }}
    </QueryResult>
  );
}

function Entry({ of: { type, summary } }: { of: EventType }) {
  return (
    <li>
      <Code className="breakable">
        <EventName name={type} />
      </Code>
      <Text size="sm">{summary}</Text>
      <Anchor href={eventReference(type)} size="sm" aria-label={`Fields and example of ${type}`}>
        Fields and example
      </Anchor>
    </li>
  );
}
