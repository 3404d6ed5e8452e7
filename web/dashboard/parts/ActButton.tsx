import { Button, type ButtonProps } from '@mantine/core';
import { useAct } from '../service/useService.ts';
import { Failure } from './Failure.tsx';

/** A button that does one thing at once, shows that it is doing it, and says beside it what went wrong. */
export function ActButton({ act, children, ...look }: { act: () => Promise<unknown>; children: string } & ButtonProps) {
  const doing = useAct<void>(() => act());
  return (
    <>
      <Button size="compact-sm" variant="light" {...look} loading={doing.isPending} onClick={() => doing.mutate()}>
        {children}
      </Button>
      {doing.error && <Failure problem={doing.error} />}
    </>
  );
}
