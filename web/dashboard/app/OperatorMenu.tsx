import { Button, Menu, Modal, Text, useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Link } from 'wouter';
import { ErrorAlert } from '../parts/errors.tsx';
import { Icon } from '../parts/Icon.tsx';
import type { ApiError } from '../service/api.ts';
import { useSession } from '../service/session.tsx';
import { role_labels } from '../service/types.ts';

export function OperatorMenu({ openShortcuts }: { openShortcuts: () => void }) {
  const { operator, signOut } = useSession();
  const signingOut = useMutation<void, ApiError>({ mutationFn: signOut });
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme('light');
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button
            variant="subtle"
            color="gray"
            size="compact-md"
            maw={220}
            aria-label={operator.name || operator.email}
          >
            <Icon name="user" />
            {/* On a phone the icon leaves room for the environment. */}
            <Text size="sm" ml={8} truncate visibleFrom="sm">
              {operator.name || operator.email}
            </Text>
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>
            {operator.email} · {operator.all_clients ? role_labels[operator.role] : 'Selected clients'}
          </Menu.Label>
          <Menu.Item component={Link} href="/settings/me">
            My account
          </Menu.Item>
          <Menu.Item component="a" href="/docs" target="_blank" rel="noreferrer">
            Documentation
          </Menu.Item>
          <Menu.Divider />
          <Menu.Item onClick={() => setColorScheme(scheme === 'dark' ? 'light' : 'dark')}>
            {scheme === 'dark' ? 'Light' : 'Dark'} mode
          </Menu.Item>
          <Menu.Item onClick={openShortcuts}>Keyboard shortcuts</Menu.Item>
          <Menu.Divider />
          <Menu.Item onClick={() => signingOut.mutate()}>Sign out</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Modal opened={signingOut.isError} onClose={signingOut.reset} title="Sign-out failed">
        {signingOut.error && <ErrorAlert error={signingOut.error} retry={signingOut.mutate} />}
      </Modal>
    </>
  );
}
