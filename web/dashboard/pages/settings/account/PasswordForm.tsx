import { Button, Group, Stack, Text } from '@mantine/core';
import type { FormEvent } from 'react';
import { ErrorAlert, errorAt } from '../../../parts/errors.tsx';
import { SecretInput } from '../../../parts/forms/SecretInput.tsx';
import { call } from '../../../service/api.ts';
import { useAction } from '../../../service/queries.ts';

/** Changes the operator's own password. */
export function PasswordForm() {
  const change = useAction((form: FormData) => {
    const body = { new_password: String(form.get('new_password')) };
    return call('me.password', {}, { body });
  });
  const onSubmit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    change.mutate(new FormData(form), { onSuccess: () => form.reset() });
  };
  return (
    <form onSubmit={onSubmit}>
      <Stack>
        <SecretInput
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
