import { Group, NativeSelect, NumberInput, Stack, Text, Title } from '@mantine/core';
import { useState } from 'react';
import { ActionButton } from '../../../parts/forms/ActionButton.tsx';
import { EmptyState } from '../../../parts/layout.tsx';
import { QueryResult } from '../../../parts/QueryResult.tsx';
import { call } from '../../../service/api.ts';
import { useQuery } from '../../../service/queries.ts';
import { useSession } from '../../../service/session.tsx';
import type { Hours } from '../../../service/types.ts';
import { useOrganization } from '../organization.tsx';
import { useRecords } from '../RecordList.tsx';
import { AvailabilityPreview } from './AvailabilityPreview.tsx';
import { timeRange } from './times.ts';
import { type Options, useOptions } from './useOptions.ts';
import { WeekEditor } from './WeekEditor.tsx';

/** The hours of providers without hours of their own, for availability requests that ask for them. */
export function DefaultHours() {
  const { params, organization } = useOrganization();
  const editable = useSession().may('operator');
  const options = useOptions();
  const query = useQuery('default-hours.get', params);
  const save = (hours: Hours | null) => call('default-hours.update', params, { body: { hours } });
  return (
    <Stack>
      <Title order={2} size="h3">
        Default hours
      </Title>
      <Text size="sm" c="dimmed">
        Used for {organization.org_id} providers without hours when an availability request sets
        fallback_to_default_hours.
      </Text>
      <section aria-label="Hours">
        <QueryResult query={query}>
          {({ hours, set }) => (
            <>
              <Group mb="sm">
                <Text size="sm" c="dimmed">
                  {set ? 'Customized' : `Standard: Monday to Friday, ${timeRange('09:00', '17:00')}`}
                </Text>
                {set && editable && <ActionButton action={() => save(null)}>Reset</ActionButton>}
              </Group>
              <WeekEditor hours={hours} options={options} editable={editable} save={save} />
            </>
          )}
        </QueryResult>
      </section>
      <Preview options={options} />
      <QueryResult query={query}>
        {({ appointment_minutes }) => (
          <Duration key={appointment_minutes} minutes={appointment_minutes} editable={editable} params={params} />
        )}
      </QueryResult>
    </Stack>
  );
}

/** The length of appointments whose request and visit type give none. */
function Duration({
  minutes,
  editable,
  params,
}: {
  minutes: number | null;
  editable: boolean;
  params: ReturnType<typeof useOrganization>['params'];
}) {
  const [value, setValue] = useState<string | number>(minutes ?? '');
  const body = { appointment_minutes: value === '' ? null : Number(value) };
  return (
    <Group align="end">
      <NumberInput
        label="Default appointment duration (minutes)"
        description="For visit types without a duration. Standard: 30"
        placeholder="30"
        min={1}
        max={1440}
        allowDecimal={false}
        value={value}
        onChange={setValue}
        readOnly={!editable}
      />
      {editable && <ActionButton action={() => call('default-hours.update', params, { body })}>Save</ActionButton>}
    </Group>
  );
}

function Preview({ options }: { options: Options }) {
  const query = useRecords('providers');
  const [selected, setSelected] = useState('');
  return (
    <div>
      <QueryResult query={query}>
        {({ providers = [] }) => {
          const without = providers.filter(({ hours }) => hours.every(({ shifts }) => shifts.length === 0));
          const shown = without.find(({ ehr_id }) => ehr_id === selected) ?? without[0];
          if (!shown)
            return (
              <EmptyState>
                All providers have their own hours. Default hours apply to a provider once you remove theirs.
              </EmptyState>
            );
          return (
            <Stack>
              <NativeSelect
                label="Provider without hours"
                value={shown.ehr_id}
                data={without.map(({ ehr_id, name }) => ({ value: ehr_id, label: name }))}
                onChange={(event) => setSelected(event.currentTarget.value)}
              />
              <AvailabilityPreview
                key={shown.ehr_id}
                provider_ehr_id={shown.ehr_id}
                options={options}
                use_default_hours
              />
            </Stack>
          );
        }}
      </QueryResult>
    </div>
  );
}
