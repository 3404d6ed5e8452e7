import { Group, Paper, Radio, Stack, Switch, Text, Title } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { ErrorAlert } from '../../parts/errors.tsx';
import { ActionButton } from '../../parts/forms/ActionButton.tsx';
import { call } from '../../service/api.ts';
import { useAction } from '../../service/queries.ts';
import type { SandboxState } from '../../service/types.ts';

type Fault = SandboxState['switches'][number];
type Mode = 'on' | 'once';

export function Faults({ state, editable }: { state: SandboxState; editable: boolean }) {
  const [mode, setMode] = useState<Mode>('on');
  const toggle = useAction(({ id, to }: { id: string; to: Mode | 'off' }) =>
    call('sandbox.faults.set', { switch_id: id }, { body: { to } }),
  );
  // A switch moves immediately, before the server has responded.
  const isOn = ({ id, on }: Fault) =>
    toggle.isPending && toggle.variables.id === id ? toggle.variables.to !== 'off' : on;
  const active = state.switches.filter(isOn);
  const renderSwitch = (fault: Fault) => (
    <Switch
      key={fault.id}
      label={fault.on && fault.once ? `${fault.label} (once)` : fault.label}
      description={fault.description}
      checked={isOn(fault)}
      disabled={!editable}
      onChange={({ currentTarget }) => toggle.mutate({ id: fault.id, to: currentTarget.checked ? mode : 'off' })}
    />
  );
  return (
    <Stack>
      {editable && (
        <Radio.Group
          label="When turned on, a fault applies"
          value={mode}
          // Its values are those of the radios below.
          onChange={(value) => setMode(value as Mode)}
        >
          <Group mt={4}>
            <Radio value="on" label="Until turned off" />
            <Radio value="once" label="Once" />
          </Group>
        </Radio.Group>
      )}
      {toggle.error && <ErrorAlert error={toggle.error} />}
      {active.length > 0 && (
        <FaultGroup title={active.length === 1 ? '1 fault is on' : `${active.length} faults are on`} active>
          {active.map(renderSwitch)}
          {editable && (
            <Group>
              <ActionButton action={() => call('sandbox.faults.clear', {})}>Clear all faults</ActionButton>
            </Group>
          )}
        </FaultGroup>
      )}
      <div className="fault-groups">
        {groups.map(({ group, title }) => {
          const inactive = state.switches.filter((fault) => fault.group === group && !isOn(fault));
          return (
            inactive.length > 0 && (
              <FaultGroup key={group} title={title}>
                {inactive.map(renderSwitch)}
              </FaultGroup>
            )
          );
        })}
      </div>
      {state.other_faults > 0 && (
        <Text size="sm">
          {state.other_faults === 1 ? '1 more fault is' : `${state.other_faults} more faults are`} set through the
          control API.
        </Text>
      )}
      {state.other_faults > 0 && active.length === 0 && editable && (
        <Group>
          <ActionButton action={() => call('sandbox.faults.clear', {})}>Clear all faults</ActionButton>
        </Group>
      )}
    </Stack>
  );
}

const groups: { group: Fault['group']; title: string }[] = [
  { group: 'down', title: 'Slow or unavailable' },
  { group: 'lost', title: 'Response lost or damaged' },
  { group: 'refused', title: 'Rejected or changed' },
];

function FaultGroup({ title, active, children }: { title: string; active?: true; children: ReactNode }) {
  return (
    <Paper withBorder p="md" component="section" aria-label={title} className={active ? 'active-faults' : ''}>
      <Title order={3} size="h5" mb="sm">
        {title}
      </Title>
      <Stack gap="sm">{children}</Stack>
    </Paper>
  );
}
