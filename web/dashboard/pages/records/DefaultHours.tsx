import { Group, NativeSelect, Stack, Text, Title } from '@mantine/core';
import { useState } from 'react';
import type { DefaultHours as Kept } from '../../../../src/model/dashboard/records.ts';
import type { Provider } from '../../../../src/model/records/providers.ts';
import { ActButton } from '../../parts/ActButton.tsx';
import { Answer } from '../../parts/Answer.tsx';
import { Empty } from '../../parts/Empty.tsx';
import { ask } from '../../service/ask.ts';
import { useSession } from '../../service/session.tsx';
import { useAnswer } from '../../service/useService.ts';
import { AvailabilityPreview } from './AvailabilityPreview.tsx';
import { useOrganization } from './organization.tsx';
import { useChoices } from './useChoices.ts';
import { WeekEditor } from './week/WeekEditor.tsx';

/** What providers without hours work by, where an application asks for it. */
export function DefaultHours() {
  const { of, organization } = useOrganization();
  const editable = useSession().may('operator');
  const choices = useChoices();
  const asked = useAnswer<Kept>(of('default-hours'));
  const save = (hours: Kept['hours'] | null) => ask(of('default-hours'), { method: 'PATCH', body: { hours } });
  return (
    <Stack>
      <Title order={2} size="h4">
        Default hours
      </Title>
      <Text size="sm" c="dimmed">
        Applications may ask for availability with default hours: then a provider of {organization.org_id} who has no
        hours at all is offered by these.
      </Text>
      <div className="beside">
        <section aria-label="Hours">
          <Answer to={asked}>
            {({ hours, set }) => (
              <>
                <Group mb="sm">
                  <Text size="sm" c="dimmed">
                    {set ? 'Set here.' : 'Not set: Monday to Friday, 09:00 to 17:00.'}
                  </Text>
                  {set && editable && <ActButton act={() => save(null)}>Set back</ActButton>}
                </Group>
                <WeekEditor hours={hours} choices={choices} editable={editable} save={save} />
              </>
            )}
          </Answer>
        </section>
        <Preview choices={choices} />
      </div>
    </Stack>
  );
}

function Preview({ choices }: { choices: ReturnType<typeof useChoices> }) {
  const { of } = useOrganization();
  const asked = useAnswer<{ providers: Provider[] }>(of('records/providers'));
  const [chosen, setChosen] = useState('');
  return (
    <div>
      <Answer to={asked}>
        {({ providers }) => {
          const without = providers.filter(({ hours }) => hours.every(({ shifts }) => shifts.length === 0));
          const shown = without.find(({ ehr_id }) => ehr_id === chosen) ?? without[0];
          if (!shown) return <Empty>Every provider has hours, so the default ones are not used at present.</Empty>;
          return (
            <Stack>
              <NativeSelect
                label="Provider without hours"
                value={shown.ehr_id}
                data={without.map(({ ehr_id, name }) => ({ value: ehr_id, label: name }))}
                onChange={(event) => setChosen(event.currentTarget.value)}
              />
              <AvailabilityPreview key={shown.ehr_id} provider_ehr_id={shown.ehr_id} choices={choices} fallback />
            </Stack>
          );
        }}
      </Answer>
    </div>
  );
}
