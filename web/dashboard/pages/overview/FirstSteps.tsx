import { Anchor, Button, Group, Loader, Text, Title } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { Link } from 'wouter';
import { ActionButton } from '../../parts/forms/ActionButton.tsx';
import { Icon } from '../../parts/Icon.tsx';
import { Section } from '../../parts/layout.tsx';
import { Status } from '../../parts/Status.tsx';
import { EventName } from '../../parts/values.tsx';
import { call, type ResponseOf } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';
import { useQuery } from '../../service/queries.ts';
import { useSession } from '../../service/session.tsx';
import { OpenInLarkspur } from '../sandbox/OpenInLarkspur.tsx';

type Steps = NonNullable<ResponseOf<'overview.get'>['overview']['first_steps']>;

/** What of the first steps only this browser knows. */
type Seen = { chart_opened?: boolean; dismissed?: boolean };

/** Whether the first steps are shown, and a way to note what was done here. */
export function useFirstSteps(steps: Steps | null) {
  const { client_id } = useClient();
  const { sandbox } = useSession();
  const key = `chartwire.first-steps.${client_id}`;
  const [seen, setSeen] = useState<Seen>(() => readSeen(key));
  const note = (what: Seen) => {
    const next = { ...seen, ...what };
    localStorage.setItem(key, JSON.stringify(next));
    setSeen(next);
  };
  const done = steps !== null && (sandbox ? isSandboxDone(steps, seen) : isSetUp(steps));
  return { steps: steps === null || done || seen.dismissed ? null : steps, seen, note };
}

function readSeen(key: string): Seen {
  try {
    return JSON.parse(localStorage.getItem(key) ?? '{}');
  } catch {
    return {};
  }
}

const isWritten = ({ write }: Steps) => write?.state === 'succeeded';
const isReceived = ({ event }: Steps) => event?.delivered_at != null;
const isSandboxDone = (steps: Steps, seen: Seen) => isWritten(steps) && isReceived(steps) && seen.chart_opened === true;
const isSetUp = (steps: Steps) => steps.has_secret && steps.has_account && steps.has_endpoint && steps.write !== null;

type Props = { steps: Steps; seen: Seen; note: (what: Seen) => void };

/** What to do first, with a button for each step. Each shows what has become of it. */
export function FirstSteps(props: Props) {
  const { sandbox } = useSession();
  return (
    <Section title={sandbox ? 'Your first write in three steps' : 'Get started'}>
      <Text size="sm" c="dimmed" mb="md">
        {sandbox
          ? 'Everything here is synthetic: send a write to the test EMR, receive its event, and look at it in the chart.'
          : 'Three things connect your application to a practice.'}
      </Text>
      {sandbox ? <SandboxSteps {...props} /> : <SetupSteps steps={props.steps} />}
      <Group justify="flex-end" mt="sm">
        <Button size="compact-sm" variant="subtle" color="gray" onClick={() => props.note({ dismissed: true })}>
          Dismiss
        </Button>
      </Group>
    </Section>
  );
}

function SandboxSteps({ steps, seen, note }: Props) {
  const { linkTo } = useClient();
  const { may } = useSession();
  const { write, event } = steps;
  const current = !isWritten(steps) ? 1 : !isReceived(steps) ? 2 : 3;
  return (
    <ol className="steps">
      <Step number={1} current={current} done={isWritten(steps)} title="Send a first write">
        <Text size="sm">Records a telephone call in the chart of a patient, as your application would.</Text>
        {write && (
          <Group gap="xs">
            <Status of={write.state} />
            <Anchor component={Link} href={linkTo(`/jobs/${write.job_id}`)} size="sm">
              Job {write.job_id}
            </Anchor>
          </Group>
        )}
        {may('operator') && !isWritten(steps) && !isUnfinished(write) && (
          <ActionButton size="sm" variant="filled" action={() => call('sandbox.first-write', {})}>
            {write === null ? 'Send first write' : 'Send another one'}
          </ActionButton>
        )}
      </Step>
      <Step number={2} current={current} done={isReceived(steps)} title="Receive its event">
        <Text size="sm">
          A signed webhook reports that the write is in the EMR. The built-in receiver shows what your endpoint would
          get.
        </Text>
        {isReceived(steps) && event ? (
          <Group gap="xs">
            <Status of="success" />
            <Anchor component={Link} href={linkTo(`/events/${event.id}`)} size="sm" className="breakable">
              <EventName name={event.type} />
            </Anchor>
          </Group>
        ) : (
          <ReceiveEvent event={event} enabled={current === 2} waits={steps.has_endpoint && event !== null} />
        )}
      </Step>
      <Step number={3} current={current} done={seen.chart_opened === true} title="See it in the chart">
        <Text size="sm">Opens the patient’s chart in Larkspur, the test EMR, as its staff see it.</Text>
        {may('read_only') && (
          <OpenInLarkspur
            of={isWritten(steps) && write ? { job_id: write.job_id } : undefined}
            size="sm"
            variant={current === 3 ? 'filled' : 'default'}
            opened={() => note({ chart_opened: true })}
          />
        )}
      </Step>
    </ol>
  );
}

function isUnfinished(write: Steps['write']): boolean {
  return write !== null && ['queued', 'running'].includes(write.state);
}

/** Sets up the receiver and sends the event to it, which has been sent to nobody before. */
function ReceiveEvent({ event, enabled, waits }: { event: Steps['event']; enabled: boolean; waits: boolean }) {
  const { client_id } = useClient();
  const { may } = useSession();
  const receiver = useQuery('receiver.get', { client_id }, { live: ['events'] });
  if (!may('operator')) return null;
  // The same height as what replaces it.
  if (receiver.data === undefined) {
    return (
      <Button size="sm" variant="default" disabled>
        Receive the event
      </Button>
    );
  }
  const { receiver: existing, refused } = receiver.data;
  if (existing && waits && enabled) {
    return (
      <Group gap="xs">
        <Loader size="xs" aria-hidden />
        <Text size="sm" role="status">
          Waiting for the event…
        </Text>
      </Group>
    );
  }
  if (refused !== null) return <Text size="sm">{refused}</Text>;
  return (
    <ActionButton
      size="sm"
      variant={enabled ? 'filled' : 'default'}
      disabled={!enabled || event === null}
      action={async () => {
        if (!existing) await call('receiver.create', { client_id });
        if (event) await call('events.resend', { client_id, id: event.id });
      }}
    >
      Receive the event
    </ActionButton>
  );
}

function SetupSteps({ steps }: { steps: Steps }) {
  const { client_id, linkTo } = useClient();
  const { may } = useSession();
  const { has_secret, has_account, has_endpoint } = steps;
  const current = !has_secret ? 1 : !has_account ? 2 : !has_endpoint ? 3 : 4;
  return (
    <ol className="steps">
      <Step number={1} current={current} done={has_secret} title="Create credentials">
        <Text size="sm">A client ID and a secret with which your application calls the API.</Text>
        {may('owner') && <To href={`~/dashboard/settings/clients/${client_id}`} done={has_secret} name="Credentials" />}
      </Step>
      <Step number={2} current={current} done={has_account} title="Link an account">
        <Text size="sm">Create a link, and send it to the person at the practice who signs in to the EMR.</Text>
        <To href={linkTo('/accounts')} done={has_account} name="Accounts" />
      </Step>
      <Step number={3} current={current} done={has_endpoint} title="Register a webhook">
        <Text size="sm">Events report what became of each write, and what changed in the EMR.</Text>
        <To href={linkTo('/events/endpoints')} done={has_endpoint} name="Webhook endpoints" />
        {current === 4 && (
          <Text size="sm">
            Then send a first write: <Anchor href="/docs">see the quickstart</Anchor>.
          </Text>
        )}
      </Step>
    </ol>
  );
}

function To({ href, done, name }: { href: string; done: boolean; name: string }) {
  return (
    <Button component={Link} href={href} size="sm" variant={done ? 'default' : 'filled'}>
      {name}
    </Button>
  );
}

type StepProps = { number: number; current: number; done: boolean; title: string; children: ReactNode };

function Step({ number, current, done, title, children }: StepProps) {
  const state = done ? 'done' : number === current ? 'current' : 'later';
  return (
    <li className={`step ${state}`} aria-current={state === 'current' ? 'step' : undefined}>
      <span className="step-mark">{done ? <Icon name="check" size={16} /> : number}</span>
      <Title order={3} size="h5">
        {title}
        {done && <span className="visually-hidden"> (done)</span>}
      </Title>
      <Group gap="xs" align="flex-start" className="step-body">
        {children}
      </Group>
    </li>
  );
}
