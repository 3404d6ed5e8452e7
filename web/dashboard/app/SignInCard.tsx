import { Center, Paper, Stack, Title } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';
import { Mark } from '../parts/Mark.tsx';

/** The page of an operator who is not signed in yet, or must do something before the dashboard opens. */
export function SignInCard({
  title,
  footer,
  children,
}: {
  title: string;
  /** Below the card. */
  footer?: ReactNode;
  children: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} · Chartwire`;
  }, [title]);
  return (
    <Center component="main" mih="100vh" p="md">
      <Stack w={400} maw="100%">
        <div className="brand sign-in-brand">
          <Mark size={32} />
          Chartwire
        </div>
        <Paper withBorder p="xl">
          <Stack>
            <Title order={1} size="h3">
              {title}
            </Title>
            {children}
          </Stack>
        </Paper>
        {footer}
      </Stack>
    </Center>
  );
}
