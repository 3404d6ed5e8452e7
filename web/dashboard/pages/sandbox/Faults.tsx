import { Group, Radio, SimpleGrid, Stack, Switch, Text } from '@mantine/core';
import { useState } from 'react';
import type { FaultSwitch, SandboxState } from '../../../../src/model/dashboard/sandbox.ts';
import { ActButton } from '../../parts/ActButton.tsx';
import { Failure } from '../../parts/Failure.tsx';
import { ask } from '../../service/ask.ts';
import { useAct } from '../../service/useService.ts';

type Often = 'on' | 'once';

export function Faults({ state, may_change }: { state: SandboxState; may_change: boolean }) {
  const [often, setOften] = useState<Often>('on');
  const turn = useAct<{ id: string; to: Often | 'off' }>(({ id, to }) =>
    ask(`sandbox/faults/${id}`, { method: 'POST', body: { to } }),
  );
  // A switch moves at once; what the clinic says of it follows.
  const isOn = ({ id, on }: FaultSwitch) =>
    turn.isPending && turn.variables.id === id ? turn.variables.to !== 'off' : on;
  const any = state.other_faults > 0 || state.switches.some(({ on }) => on);
  return (
    <Stack>
      {may_change && (
        <Radio.Group
          label="A fault that is switched on strikes"
          value={often}
          // The two values are those of the radios below.
          onChange={(value) => setOften(value as Often)}
        >
          <Group mt={4}>
            <Radio value="on" label="until it is switched off" />
            <Radio value="once" label="one time" />
          </Group>
        </Radio.Group>
      )}
      {turn.error && <Failure problem={turn.error} />}
      <SimpleGrid cols={1}>
        {state.switches.map((each) => (
          <Switch
            key={each.id}
            label={labelOf(each)}
            description={each.description}
            checked={isOn(each)}
            disabled={!may_change}
            onChange={({ currentTarget }) => turn.mutate({ id: each.id, to: currentTarget.checked ? often : 'off' })}
          />
        ))}
      </SimpleGrid>
      {state.other_faults > 0 && (
        <Text size="sm">
          {state.other_faults === 1 ? 'One more fault was' : `${state.other_faults} more faults were`} set by the
          control API.
        </Text>
      )}
      {any && may_change && (
        <Group>
          <ActButton act={() => ask('sandbox/faults', { method: 'DELETE' })}>Clear all faults</ActButton>
        </Group>
      )}
    </Stack>
  );
}

function labelOf({ label, on, once }: FaultSwitch): string {
  return on && once ? `${label} (the next time)` : label;
}
