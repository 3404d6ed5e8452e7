import { Alert, Checkbox, Group, NativeSelect, Stack, Text, Title } from '@mantine/core';
import type { EditedProvider } from '../../../../src/model/dashboard/records.ts';
import { ActButton } from '../../parts/ActButton.tsx';
import { Answer } from '../../parts/Answer.tsx';
import { Failure } from '../../parts/Failure.tsx';
import { Fields } from '../../parts/Fields.tsx';
import { Status } from '../../parts/Status.tsx';
import { ask } from '../../service/ask.ts';
import { useSession } from '../../service/session.tsx';
import { useAct, useAnswer } from '../../service/useService.ts';
import { AvailabilityPreview } from './AvailabilityPreview.tsx';
import { useOrganization } from './organization.tsx';
import { useChoices } from './useChoices.ts';
import { WeekEditor } from './week/WeekEditor.tsx';

export function Provider({ id }: { id: string }) {
  const { of } = useOrganization();
  const asked = useAnswer<EditedProvider>(of(`providers/${id}`));
  return <Answer to={asked}>{(edited) => <Edited {...edited} />}</Answer>;
}

function Edited({ provider, set, emr }: EditedProvider) {
  const { of } = useOrganization();
  const editable = useSession().may('operator');
  const choices = useChoices();
  const patch = (body: object) => ask(of(`providers/${provider.id}`), { method: 'PATCH', body });
  const offered = provider.status === 'active' && !provider.hide_in_availability;
  return (
    <Stack>
      <Group>
        <Title order={2} size="h4">
          {provider.name}
        </Title>
        <Status of={provider.status} />
      </Group>
      <Fields of={{ NPI: provider.npi, 'EMR ID': provider.ehr_id, 'Time zone': provider.timezone }} />
      {editable ? (
        <Settings provider={provider} patch={patch} said_by_emr={set.status === null ? undefined : emr.status} />
      ) : (
        <Text size="sm">{provider.hide_in_availability ? 'Hidden in availability.' : 'Shown in availability.'}</Text>
      )}
      <div className="beside">
        <section aria-label="Hours">
          <Title order={3} size="h5">
            Hours
          </Title>
          <Group mb="sm">
            <Text size="sm" c="dimmed">
              {set.hours ? 'Set here: the EMR’s own hours are not used.' : 'As the EMR has them.'}
            </Text>
            {set.hours && editable && <ActButton act={() => patch({ hours: null })}>Use the EMR’s hours</ActButton>}
          </Group>
          <WeekEditor hours={provider.hours} choices={choices} editable={editable} save={(hours) => patch({ hours })} />
        </section>
        <div>
          {!offered && (
            <Alert color="yellow" mb="sm">
              This provider is {provider.status === 'active' ? 'hidden' : 'inactive'}, so nothing is offered.
            </Alert>
          )}
          <AvailabilityPreview provider_ehr_id={provider.ehr_id} choices={choices} fallback={false} />
        </div>
      </div>
    </Stack>
  );
}

function Settings({
  provider,
  patch,
  said_by_emr,
}: {
  provider: EditedProvider['provider'];
  patch: (body: object) => Promise<unknown>;
  said_by_emr: string | undefined;
}) {
  const saving = useAct<object>(patch);
  return (
    <>
      <Group align="flex-end">
        <NativeSelect
          label="Status"
          {...(said_by_emr === undefined ? {} : { description: `The EMR says ${said_by_emr}.` })}
          value={provider.status}
          disabled={saving.isPending}
          data={[
            { value: 'active', label: 'Active' },
            { value: 'inactive', label: 'Inactive' },
          ]}
          onChange={(event) => saving.mutate({ status: event.currentTarget.value })}
        />
        <Checkbox
          label="Hide in availability"
          mb={8}
          checked={provider.hide_in_availability}
          disabled={saving.isPending}
          onChange={(event) => saving.mutate({ hide_in_availability: event.currentTarget.checked })}
        />
      </Group>
      {saving.error && <Failure problem={saving.error} />}
    </>
  );
}
