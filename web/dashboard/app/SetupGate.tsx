import { Anchor, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { PasswordForm } from '../pages/settings/account/PasswordForm.tsx';
import { useSession } from '../service/session.tsx';
import { SignInCard } from './SignInCard.tsx';

/** Shows the dashboard once the operator has nothing left to set up. Until then the server refuses everything else. */
export function SetupGate({ children }: { children: ReactNode }) {
  const { pending_setup } = useSession();
  if (pending_setup === null) return children;
  return (
    <SignInCard title="Change your password" footer={<SignOut />}>
      <Text size="sm">Your password is temporary: someone else has seen it. Choose your own to continue.</Text>
      <PasswordForm />
    </SignInCard>
  );
}

function SignOut() {
  const { operator, signOut } = useSession();
  return (
    <Text size="sm" c="dimmed" ta="center" className="breakable">
      Signed in as {operator.email}.{' '}
      <Anchor component="button" type="button" size="sm" underline="always" onClick={() => void signOut()}>
        Sign out
      </Anchor>
    </Text>
  );
}
