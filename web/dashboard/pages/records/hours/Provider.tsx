import { Alert, Checkbox, Group, NativeSelect, Stack, Text, Title } from '@mantine/core';
import { ErrorAlert } from '../../../parts/errors.tsx';
import { ActionButton } from '../../../parts/forms/ActionButton.tsx';
import { QueryResult } from '../../../parts/QueryResult.tsx';
import { Status } from '../../../parts/Status.tsx';
import { Fields } from '../../../parts/values.tsx';
import { type Body, call, type ResponseOf } from '../../../service/api.ts';
import { useAction, useQuery } from '../../../service/queries.ts';
import { useSession } from '../../../service/session.tsx';
import type { Provider } from '../../../service/types.ts';
import { useOrganization } from '../organization.tsx';
import { AvailabilityPreview } from './AvailabilityPreview.tsx';
import { useOptions } from './useOptions.ts';
import { WeekEditor } from './WeekEditor.tsx';

type Update = (body: Body<'providers.update'>) => Promise<unknown>;

export function ProviderPage({ id }: { id: string }) {
  const { params } = useOrganization();
  const query = useQuery('providers.get', { ...params, id });
  return <QueryResult query={query}>{(response) => <ProviderDetails {...response} />}</QueryResult>;
}

function ProviderDetails({ provider, set, emr }: ResponseOf<'providers.get'>) {
  const { params } = useOrganization();
  const editable = useSession().may('operator');
  const options = useOptions();
  const update: Update = (body) => call('providers.update', { ...params, id: provider.id }, { body });
  const bookable = provider.status === 'active' && !provider.hide_in_availability;
  return (
    <Stack>
      <Group>
        <Title order={2} size="h2">
          {provider.name}
        </Title>
        <Status of={provider.status} />
      </Group>
      <Fields of={{ NPI: provider.npi, 'EMR ID': provider.ehr_id, 'Time zone': provider.timezone }} />
      {editable ? (
        <Settings provider={provider} update={update} emr_status={set.status === null ? undefined : emr.status} />
      ) : (
        <Text size="sm">{provider.hide_in_availability ? 'Hidden from availability' : 'Shown in availability'}</Text>
      )}
      {!bookable && (
        <Alert color="yellow">
          This provider is {provider.status === 'active' ? 'hidden' : 'inactive'} and has no availability.
        </Alert>
      )}
      <AvailabilityPreview provider_ehr_id={provider.ehr_id} options={options} use_default_hours={false} />
      <section aria-label="Hours">
        <Title order={3} size="h5">
          Hours
        </Title>
        <Group mb="sm">
          <Text size="sm" c="dimmed">
            {set.hours ? 'Set in Chartwire. The EMR’s hours are not used.' : 'From the EMR'}
          </Text>
          {set.hours && editable && (
            <ActionButton action={() => update({ hours: null })}>Use the EMR’s hours</ActionButton>
          )}
        </Group>
        <WeekEditor hours={provider.hours} options={options} editable={editable} save={(hours) => update({ hours })} />
      </section>
    </Stack>
  );
}

function Settings(props: { provider: Provider; update: Update; emr_status: string | undefined }) {
  const { provider, update, emr_status } = props;
  const { mutate, isPending, error } = useAction(update);
  return (
    <>
      <Group align="flex-end">
        <NativeSelect
          label="Status"
          {...(emr_status === undefined ? {} : { description: `In the EMR: ${emr_status}` })}
          value={provider.status}
          disabled={isPending}
          data={[
            { value: 'active', label: 'Active' },
            { value: 'inactive', label: 'Inactive' },
          ]}
          onChange={(event) => mutate({ status: event.currentTarget.value })}
        />
        <Checkbox
          label="Hide from availability"
          mb={8}
          checked={provider.hide_in_availability}
          disabled={isPending}
          onChange={(event) => mutate({ hide_in_availability: event.currentTarget.checked })}
        />
      </Group>
      {error && <ErrorAlert error={error} />}
    </>
  );
}
