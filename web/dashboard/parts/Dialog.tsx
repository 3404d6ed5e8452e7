import { Button, type ButtonProps, Group, Modal, Stack } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { FormEvent, ReactNode } from 'react';
import type { Problem } from '../service/ask.ts';
import { useAct } from '../service/useService.ts';
import { Failure } from './Failure.tsx';

type Shape<Result> = {
  /** The button that opens it. */
  opener: string;
  title: string;
  /** What is asked, or what will happen. A function is given what went wrong, to show it at its field. */
  children: ReactNode | ((problem: Problem | null) => ReactNode);
  submit: string;
  act: (typed: FormData) => Promise<Result>;
  /** Shown instead of the form once it is done; without it the dialog closes. */
  done?: (result: Result, close: () => void) => ReactNode;
  look?: ButtonProps;
  danger?: boolean;
};

/** A button that asks before it does something, and stays until that is done or refused. */
export function Dialog<Result>({ opener, title, children, submit, act, done, look, danger }: Shape<Result>) {
  const [opened, { open, close }] = useDisclosure();
  const doing = useAct<FormData, Result>(act);
  const leave = () => {
    close();
    doing.reset();
  };
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    doing.mutate(new FormData(event.currentTarget), { onSuccess: () => !done && leave() });
  };
  const colour = danger ? { color: 'red' } : {};
  return (
    <>
      <Button size="compact-sm" variant="light" {...colour} {...look} onClick={open}>
        {opener}
      </Button>
      <Modal
        opened={opened}
        onClose={leave}
        title={title}
        closeButtonProps={{ 'aria-label': 'Close' }}
        transitionProps={{ duration: 0 }}
        returnFocus
        // A click beside it must not lose what was typed, nor a secret that is shown once.
        closeOnClickOutside={false}
      >
        {done && doing.data !== undefined ? (
          <Stack>
            {done(doing.data, leave)}
            <Group justify="flex-end">
              <Button onClick={leave}>Done</Button>
            </Group>
          </Stack>
        ) : (
          <form onSubmit={send}>
            <Stack>
              {typeof children === 'function' ? children(doing.error) : children}
              {doing.error && <Failure problem={doing.error} />}
              <Group justify="flex-end">
                <Button variant="default" onClick={leave}>
                  Cancel
                </Button>
                <Button type="submit" {...(danger ? { color: 'red.9' } : {})} loading={doing.isPending}>
                  {submit}
                </Button>
              </Group>
            </Stack>
          </form>
        )}
      </Modal>
    </>
  );
}
