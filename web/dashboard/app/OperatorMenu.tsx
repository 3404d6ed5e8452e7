import { Button, Menu, Modal, Text, useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Failure } from '../parts/Failure.tsx';
import type { Problem } from '../service/ask.ts';
import { useSession } from '../service/session.tsx';

/** Who is signed in, and the way out. */
export function OperatorMenu() {
  const { operator, signOut } = useSession();
  const leaving = useMutation<void, Problem>({ mutationFn: signOut });
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme('light');
  return (
    <>
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <Button variant="subtle" color="gray" size="compact-md" maw={220}>
            <Text size="sm" truncate>
              {operator.name || operator.email}
            </Text>
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>
            {operator.email} · {operator.role.replace('_', ' ')}
          </Menu.Label>
          <Menu.Item onClick={() => setColorScheme(scheme === 'dark' ? 'light' : 'dark')}>
            {scheme === 'dark' ? 'Light' : 'Dark'} colours
          </Menu.Item>
          <Menu.Item onClick={() => leaving.mutate()}>Sign out</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Modal
        opened={leaving.isError}
        onClose={leaving.reset}
        title="You are still signed in"
        closeButtonProps={{ 'aria-label': 'Close' }}
        transitionProps={{ duration: 0 }}
      >
        {leaving.error && <Failure problem={leaving.error} retry={leaving.mutate} />}
      </Modal>
    </>
  );
}
