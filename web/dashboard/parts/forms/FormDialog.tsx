import { Button, type ButtonProps, Group, Menu, Modal, Stack } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { type FormEvent, type ReactNode, use, useEffect, useRef } from 'react';
import type { ApiError } from '../../service/api.ts';
import { useAction } from '../../service/queries.ts';
import { ErrorAlert } from '../errors.tsx';
import { type DialogName, useOpenDialog } from '../openDialog.ts';
import { showToast } from '../Toasts.tsx';
import { InMenu } from './ActionMenu.tsx';

type Props<Result> = {
  /** The label of the button that opens the dialog. */
  opener: string;
  title: string;
  /** The form's fields. A function gets the error, to show it at its field. */
  children: ReactNode | ((error: ApiError | null) => ReactNode);
  submit: string;
  action: (form: FormData) => Promise<Result>;
  /** Shown in a corner after the dialog has closed, where the page does not show the result itself. */
  success?: string;
  /** Replaces the form afterwards; without it the dialog closes. */
  done?: (result: Result) => ReactNode;
  look?: ButtonProps;
  danger?: boolean;
  /** The dialog's name for the command palette. */
  name?: DialogName;
  /** The width of the dialog. */
  size?: 'md' | 'lg';
  /** While there is nothing to submit. */
  disabled?: boolean;
  /** For pages that must keep the dialog while their data changes. */
  onOpenChange?: (opened: boolean) => void;
};

/** The look of a page's main action. Other actions are quiet. */
export const primary: ButtonProps = { size: 'sm', variant: 'filled' };

/** A button that opens a dialog with a form. The dialog stays open until the action succeeds or is canceled. */
export function FormDialog<Result>(props: Props<Result>) {
  const { opener, title, children, submit, action, success, done, look, danger, name, size, disabled, onOpenChange } =
    props;
  const used = useRef(false);
  const [opened, { open, close }] = useDisclosure(false, {
    onOpen: () => {
      used.current = true;
      onOpenChange?.(true);
    },
    onClose: () => onOpenChange?.(false),
  });
  useOpenDialog(name, open);
  // A dialog that is removed with the record it is about does not return the focus.
  useEffect(() => () => void (used.current && setTimeout(keepFocusInPage)), []);
  const { mutate, reset, data, error, isPending } = useAction<FormData, Result>(action);
  const leave = () => {
    close();
    reset();
  };
  const onSubmit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const onSuccess = () => {
      if (done) return;
      leave();
      if (success) showToast(success);
    };
    mutate(new FormData(event.currentTarget), { onSuccess });
  };
  const in_menu = use(InMenu);
  const color = danger ? { color: 'red' } : {};
  return (
    <>
      {in_menu ? (
        <Menu.Item {...color} onClick={open}>
          {opener}
        </Menu.Item>
      ) : (
        <Button size="compact-sm" variant={danger ? 'light' : 'default'} {...color} {...look} onClick={open}>
          {opener}
        </Button>
      )}
      <Modal
        opened={opened}
        onClose={leave}
        // A menu that contains the dialog must not move its focus with the arrow keys.
        onKeyDown={(event) => event.stopPropagation()}
        title={title}
        {...(size && { size })}
        returnFocus
        onExitTransitionEnd={() => setTimeout(keepFocusInPage, focus_return_ms)}
        // A stray click must not lose input, or a secret that is shown only once.
        closeOnClickOutside={false}
      >
        {done && data !== undefined ? (
          <Stack>
            {done(data)}
            <Group justify="flex-end">
              <Button ref={focus} onClick={leave}>
                Done
              </Button>
            </Group>
          </Stack>
        ) : (
          <form onSubmit={onSubmit}>
            <Stack>
              {typeof children === 'function' ? children(error) : children}
              {error && <ErrorAlert error={error} />}
              <Group justify="flex-end">
                <Button variant="default" onClick={leave}>
                  Cancel
                </Button>
                <Button
                  type="submit"
                  {...(danger ? { color: 'red.9' } : {})}
                  {...(disabled && { disabled })}
                  loading={isPending}
                >
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

/** By then the dialog has returned the focus, which it does 10 ms after closing. */
const focus_return_ms = 50;

/** The button that opened the dialog may be gone. */
function keepFocusInPage(): void {
  if (document.activeElement === document.body) document.getElementById('content')?.focus();
}

/** The button that had the focus is gone with the form. */
function focus(button: HTMLButtonElement | null): void {
  button?.focus();
}
