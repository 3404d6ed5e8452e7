import { Center, Paper, Stack, Text, Title } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';

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
        <Text fw={700} size="lg" ta="center">
          Chartwire
        </Text>
        <Paper withBorder shadow="sm" p="xl">
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
