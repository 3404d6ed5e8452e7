import { Button, type ButtonProps } from '@mantine/core';
import type { ReactNode } from 'react';
import { useAction } from '../../service/queries.ts';
import { ErrorAlert } from '../errors.tsx';
import { showToast } from '../Toasts.tsx';

type Props<Result> = ButtonProps & {
  action: () => Promise<Result>;
  children: string;
  /** Shown in a corner afterwards, where the page does not show the result itself. */
  done?: (result: Result) => ReactNode;
};

/** A button that acts immediately, without a dialog. */
export function ActionButton<Result>({ action, children, done, ...look }: Props<Result>) {
  const { mutate, isPending, error } = useAction<void, Result>(() => action());
  return (
    <>
      <Button
        size="compact-sm"
        variant="default"
        {...look}
        loading={isPending}
        onClick={() => mutate(undefined, { onSuccess: (result) => done && showToast(done(result)) })}
      >
        {children}
      </Button>
      {error && <ErrorAlert error={error} />}
    </>
  );
}
