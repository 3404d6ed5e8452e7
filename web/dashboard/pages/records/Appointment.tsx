import { Stack, Title } from '@mantine/core';
import type { Appointment as Record } from '../../../../src/model/records/appointments.ts';
import { Answer } from '../../parts/Answer.tsx';
import { Moment } from '../../parts/Moment.tsx';
import { useAnswer } from '../../service/useService.ts';
import { useOrganization } from './organization.tsx';
import { Parts } from './Parts.tsx';

export function Appointment({ id }: { id: string }) {
  const { of } = useOrganization();
  const asked = useAnswer<{ record: Record }>(of(`records/appointments/${id}`));
  return (
    <Answer to={asked}>
      {({ record }) => (
        <Stack>
          <Title order={2} size="h4">
            Appointment of <Moment at={record.datetime} />
          </Title>
          <Parts title="Appointment" of={record} />
          <Parts title="Insurances" of={record.insurances} />
          <Parts title="Diagnoses" of={record.diagnoses} />
          <Parts title="Medications" of={record.medications} />
        </Stack>
      )}
    </Answer>
  );
}
