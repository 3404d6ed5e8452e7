import { PasswordInput } from '@mantine/core';
import type { ReactNode } from 'react';

/** An input for a password, which can be shown. */
export function SecretInput(props: {
  name: string;
  label: string;
  autoComplete: string;
  description?: string;
  error?: ReactNode;
}) {
  return <PasswordInput {...props} required visibilityToggleButtonProps={{ 'aria-label': 'Show password' }} />;
}
