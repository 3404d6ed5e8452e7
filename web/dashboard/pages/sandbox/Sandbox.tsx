import { Anchor, Button, Group, Stack, Text } from '@mantine/core';
import { Link } from 'wouter';
import { ActionButton } from '../../parts/forms/ActionButton.tsx';
import { FormDialog } from '../../parts/forms/FormDialog.tsx';
import { PageTitle, Section } from '../../parts/layout.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { call } from '../../service/api.ts';
import { useQuery } from '../../service/queries.ts';
import { useSession } from '../../service/session.tsx';
import { Faults } from './Faults.tsx';
import { Staff } from './Staff.tsx';

/** Faults that apply once switch themselves off, and codes change every 30 seconds. */
const refresh_ms = 3_000;

export default function Sandbox() {
  const { may } = useSession();
  const sandbox = useQuery('sandbox.get', {}, { refresh_ms });
  const editable = may('operator');
  return (
    <>
      <PageTitle
        actions={
          sandbox.data && (
            <Button
              component="a"
              href={sandbox.data.sandbox.clinic_url}
              target="_blank"
              rel="noreferrer"
              size="compact-sm"
              variant="light"
            >
              Open practice
            </Button>
          )
        }
      >
        Sandbox
      </PageTitle>
      <QueryResult query={sandbox}>
        {({ sandbox: state }) => (
          <Stack>
            <Text>
              {state.clinic_name} is a test EMR with synthetic patients. Use this page to simulate failures and the
              other pages to see how the service handles them.
            </Text>
            {editable && (
              <Section title="First write">
                <FirstWrite clinic={state.clinic_name} />
              </Section>
            )}
            <Section title="Faults">
              <Faults state={state} editable={editable} />
            </Section>
            <Section title="Sign-ins">
              {editable && <SignIns />}
              <Staff state={state} fetched_at={sandbox.dataUpdatedAt} editable={editable} />
            </Section>
            {editable && (
              <Section title="Practice data">
                <Reset clinic={state.clinic_name} />
              </Section>
            )}
          </Stack>
        )}
      </QueryResult>
    </>
  );
}

function FirstWrite({ clinic }: { clinic: string }) {
  return (
    <Stack gap="xs" align="flex-start">
      <Text size="sm">Records a telephone call in the chart of a {clinic} patient, as an application would.</Text>
      <ActionButton
        action={() => call('sandbox.first-write', {})}
        done={({ client_id, job_id }) => (
          <>
            Accepted.{' '}
            <Anchor component={Link} href={`~/dashboard/clients/${client_id}/jobs/${job_id}`} size="sm">
              View job {job_id}
            </Anchor>
          </>
        )}
      >
        Send first write
      </ActionButton>
    </Stack>
  );
}

function SignIns() {
  const expire = (mode: 'session' | 'link') => call('sandbox.sessions.expire', {}, { body: { mode } });
  return (
    <Stack gap="xs" mb="md">
      <Text size="sm">
        An expired session is renewed automatically. An expired link needs someone to sign in: jobs wait until the
        account is re-linked.
      </Text>
      <Group gap="xs">
        <ActionButton action={() => expire('session')}>Expire all sessions</ActionButton>
        <FormDialog
          opener="Expire all links"
          title="Expire all links"
          submit="Expire"
          danger
          action={() => expire('link')}
        >
          <Text size="sm">
            Every account linked to this practice will need its password and a one-time code again for its next job.
            Re-link the accounts on the Accounts page.
          </Text>
        </FormDialog>
      </Group>
    </Stack>
  );
}

function Reset({ clinic }: { clinic: string }) {
  return (
    <Stack gap="xs" align="flex-start">
      <Text size="sm">Restores the original charts, schedules and claims.</Text>
      <FormDialog
        opener="Reset practice data"
        title="Reset practice data"
        submit="Reset"
        danger
        action={() => call('sandbox.reset', {})}
      >
        <Text size="sm">
          Deletes everything written to {clinic}, including its faults and sessions. Accounts must be re-linked. Records
          stored in this service stay until the next sync.
        </Text>
      </FormDialog>
    </Stack>
  );
}
