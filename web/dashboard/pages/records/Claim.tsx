import { Stack, Title } from '@mantine/core';
import type { Claim as Record } from '../../../../src/model/records/claims.ts';
import { Answer } from '../../parts/Answer.tsx';
import { useAnswer } from '../../service/useService.ts';
import { useOrganization } from './organization.tsx';
import { Parts } from './Parts.tsx';

/** A claim with everything that the EMR says of it. */
export function Claim({ id }: { id: string }) {
  const { of } = useOrganization();
  const asked = useAnswer<{ record: Record }>(of(`records/claims/${id}`));
  return (
    <Answer to={asked}>
      {({ record }) => (
        <Stack>
          <Title order={2} size="h4">
            Claim {record.emr_claim_id}
          </Title>
          <Parts title="Claim" of={record} />
          <Parts title="Line items" of={record.line_items} />
          <Parts title="Payments" of={record.payments} />
          <Parts title="Insurances" of={record.insurances} />
          <Parts title="Balances" of={record.balances} />
          <Parts title="Voids and copies" of={record.void_claim} />
          <Parts title="Submissions" of={record.submission_history.entries} />
          <Parts title="Billing activity" of={record.billing_activity_log} />
        </Stack>
      )}
    </Answer>
  );
}
