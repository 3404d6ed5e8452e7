import { Button, type ButtonProps, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useAction } from '../service/queries.ts';
import { ErrorAlert } from './errors.tsx';

type Props<Result> = ButtonProps & {
  action: () => Promise<Result>;
  children: string;
  /** Shown next to the button afterwards, where the page does not show the result itself. */
  done?: (result: Result) => ReactNode;
};

/** A button that acts immediately, without a dialog. */
export function ActionButton<Result>({ action, children, done, ...look }: Props<Result>) {
  const { mutate, isPending, data, error } = useAction<void, Result>(() => action());
  return (
    <>
      <Button size="compact-sm" variant="light" {...look} loading={isPending} onClick={() => mutate()}>
        {children}
      </Button>
      {done && data !== undefined && (
        <Text size="sm" role="status">
          {done(data)}
        </Text>
      )}
      {error && <ErrorAlert error={error} />}
    </>
  );
}
