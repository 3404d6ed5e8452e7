import { Button, Group, Stack, Text } from '@mantine/core';
import type { SandboxState } from '../../../../src/model/dashboard/sandbox.ts';
import { ActButton } from '../../parts/ActButton.tsx';
import { Answer } from '../../parts/Answer.tsx';
import { Dialog } from '../../parts/Dialog.tsx';
import { PageTitle } from '../../parts/PageTitle.tsx';
import { Section } from '../../parts/Section.tsx';
import { ask } from '../../service/ask.ts';
import { useSession } from '../../service/session.tsx';
import { useAnswer } from '../../service/useService.ts';
import { Faults } from './Faults.tsx';
import { FirstWrite } from './FirstWrite.tsx';
import { Staff } from './Staff.tsx';

/** Faults that were to strike once go off by themselves, and codes change every half minute. */
const refresh_ms = 3_000;

export default function Sandbox() {
  const { may } = useSession();
  const sandbox = useAnswer<{ sandbox: SandboxState }>('sandbox', { refresh_ms });
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
              Open the clinic screens
            </Button>
          )
        }
      >
        Sandbox
      </PageTitle>
      <Answer to={sandbox}>
        {({ sandbox: state }) => (
          <Stack>
            <Text>
              {state.clinic_name} is an EMR with invented patients that runs beside this service. Break it here, and see
              on the other pages what the service makes of it.
            </Text>
            {may('operator') && (
              <Section title="A first write">
                <FirstWrite clinic={state.clinic_name} />
              </Section>
            )}
            <Section title="Faults">
              <Faults state={state} may_change={may('operator')} />
            </Section>
            <Section title="Sign-ins">
              {may('operator') && <SignIns />}
              <Staff state={state} fetched_at={sandbox.dataUpdatedAt} may_change={may('operator')} />
            </Section>
            {may('operator') && (
              <Section title="The practice">
                <Reset clinic={state.clinic_name} />
              </Section>
            )}
          </Stack>
        )}
      </Answer>
    </>
  );
}

function SignIns() {
  const expire = (mode: 'session' | 'link') => ask('sandbox/sessions/expire', { method: 'POST', body: { mode } });
  return (
    <Stack gap="xs" mb="md">
      <Text size="sm">
        A session that ends is renewed silently. A link that expires needs a person: its jobs wait until the account is
        linked again.
      </Text>
      <Group gap="xs">
        <ActButton act={() => expire('session')}>End all sessions</ActButton>
        <Dialog opener="Expire all links" title="Expire all links" submit="Expire" danger act={() => expire('link')}>
          <Text size="sm">
            Every account that is linked to this clinic will need its password and a one-time code again, with its next
            job. Find them on the Accounts page.
          </Text>
        </Dialog>
      </Group>
    </Stack>
  );
}

function Reset({ clinic }: { clinic: string }) {
  return (
    <Stack gap="xs" align="flex-start">
      <Text size="sm">A reset brings back the charts, schedules and claims of the first day.</Text>
      <Dialog
        opener="Reset the practice"
        title="Reset the practice"
        submit="Reset"
        danger
        act={() => ask('sandbox/reset', { method: 'POST' })}
      >
        <Text size="sm">
          Everything that was written to {clinic} is lost, also its faults and sessions. Linked accounts have to be
          linked again. What this service holds stays until the next sync.
        </Text>
      </Dialog>
    </Stack>
  );
}
