import { Notifications, notifications } from '@mantine/notifications';
import type { ReactNode } from 'react';
import { Icon } from './Icon.tsx';

/** Long enough to read two lines. The page shows the result too, so nothing is lost with it. */
const shown_ms = 8_000;

/** Where the results of actions are shown: a corner of the window, above dialogs. */
export function Toasts() {
  return <Notifications position="bottom-right" limit={3} autoClose={shown_ms} containerWidth={360} zIndex={400} />;
}

export function showToast(message: ReactNode, outcome: 'done' | 'failed' = 'done'): void {
  notifications.show({
    message,
    icon: <Icon name={outcome === 'done' ? 'check' : 'alert'} />,
    color: outcome === 'done' ? 'green' : 'red',
    withBorder: true,
    closeButtonProps: { 'aria-label': 'Dismiss' },
  });
}
