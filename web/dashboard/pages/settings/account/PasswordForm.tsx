import { Button, Group, PasswordInput, Stack, Text } from '@mantine/core';
import type { FormEvent, ReactNode } from 'react';
import { ErrorAlert, errorAt } from '../../../parts/errors.tsx';
import { call } from '../../../service/api.ts';
import { useAction } from '../../../service/queries.ts';
import { useRefreshSession } from '../../../service/session.tsx';

/** Changes the operator's own password. */
export function PasswordForm() {
  const refreshSession = useRefreshSession();
  const change = useAction(async (form: FormData) => {
    const body = { password: String(form.get('password')), new_password: String(form.get('new_password')) };
    await call('me.password', {}, { body });
    await refreshSession();
  });
  const onSubmit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    change.mutate(new FormData(form), { onSuccess: () => form.reset() });
  };
  return (
    <form onSubmit={onSubmit}>
      <Stack>
        <Secret name="password" label="Current password" autoComplete="current-password" />
        <Secret
          name="new_password"
          label="New password"
          description="At least 12 characters"
          autoComplete="new-password"
          error={errorAt(change.error, 'new_password')}
        />
        {change.error && change.error.field === undefined && <ErrorAlert error={change.error} />}
        <Group>
          <Button type="submit" loading={change.isPending}>
            Change password
          </Button>
          {change.isSuccess && (
            <Text size="sm" role="status">
              Password changed. Your other sessions were signed out.
            </Text>
          )}
        </Group>
      </Stack>
    </form>
  );
}

export function Secret(props: {
  name: string;
  label: string;
  description?: string;
  autoComplete: string;
  error?: ReactNode;
}) {
  return <PasswordInput {...props} required visibilityToggleButtonProps={{ 'aria-label': 'Show password' }} />;
}
