import { Group, Radio, SimpleGrid, Stack, Switch, Text } from '@mantine/core';
import { useState } from 'react';
import { ActionButton } from '../../parts/ActionButton.tsx';
import { ErrorAlert } from '../../parts/errors.tsx';
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
  const any = state.other_faults > 0 || state.switches.some(({ on }) => on);
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
      <SimpleGrid cols={1}>
        {state.switches.map((fault) => (
          <Switch
            key={fault.id}
            label={fault.on && fault.once ? `${fault.label} (once)` : fault.label}
            description={fault.description}
            checked={isOn(fault)}
            disabled={!editable}
            onChange={({ currentTarget }) => toggle.mutate({ id: fault.id, to: currentTarget.checked ? mode : 'off' })}
          />
        ))}
      </SimpleGrid>
      {state.other_faults > 0 && (
        <Text size="sm">
          {state.other_faults === 1 ? '1 more fault is' : `${state.other_faults} more faults are`} set through the
          control API.
        </Text>
      )}
      {any && editable && (
        <Group>
          <ActionButton action={() => call('sandbox.faults.clear', {})}>Clear all faults</ActionButton>
        </Group>
      )}
    </Stack>
  );
}
