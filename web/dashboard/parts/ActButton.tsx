import { Button, type ButtonProps, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useAct } from '../service/useService.ts';
import { Failure } from './Failure.tsx';

type Shape<Result> = ButtonProps & {
  act: () => Promise<Result>;
  children: string;
  /** What is said beside it once it is done; without it, the page shows it by itself. */
  done?: (result: Result) => ReactNode;
};

/** A button that does one thing at once, shows that it is doing it, and says beside it what went wrong. */
export function ActButton<Result>({ act, children, done, ...look }: Shape<Result>) {
  const doing = useAct<void, Result>(() => act());
  return (
    <>
      <Button size="compact-sm" variant="light" {...look} loading={doing.isPending} onClick={() => doing.mutate()}>
        {children}
      </Button>
      {done && doing.data !== undefined && (
        <Text size="sm" role="status">
          {done(doing.data)}
        </Text>
      )}
      {doing.error && <Failure problem={doing.error} />}
    </>
  );
}
