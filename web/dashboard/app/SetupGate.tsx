import { Anchor, Divider, Text, Title } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { AuthenticatorApp } from '../pages/settings/account/AuthenticatorApp.tsx';
import { Passkeys } from '../pages/settings/account/Passkeys.tsx';
import { PasswordForm } from '../pages/settings/account/PasswordForm.tsx';
import { NewRecoveryCodes } from '../pages/settings/account/RecoveryCodes.tsx';
import { useSession } from '../service/session.tsx';
import { SignInCard } from './SignInCard.tsx';

/** Shows the dashboard once the operator has nothing left to set up. Until then the server refuses everything else. */
export function SetupGate({ children }: { children: ReactNode }) {
  const { pending_setup } = useSession();
  // Kept here, because the session is complete as soon as the server has created them.
  const [codes, setCodes] = useState<string[]>([]);
  if (codes.length > 0) {
    return (
      <SignInCard title="Your recovery codes">
        <NewRecoveryCodes codes={codes} onDone={() => setCodes([])} />
      </SignInCard>
    );
  }
  if (pending_setup === 'password') {
    return (
      <SignInCard title="Change your password" footer={<SignOut />}>
        <Text size="sm">
          You are using a temporary password that someone else has seen. Choose a new one to continue.
        </Text>
        <PasswordForm />
      </SignInCard>
    );
  }
  if (pending_setup === 'second_factor') {
    return (
      <SignInCard title="Set up a second factor" footer={<SignOut />}>
        <Text size="sm">A second factor is required here. Choose a passkey or an authenticator app.</Text>
        <Factor title="Passkey">
          <Passkeys onCodes={setCodes} />
        </Factor>
        <Factor title="Authenticator app">
          <AuthenticatorApp onCodes={setCodes} />
        </Factor>
      </SignInCard>
    );
  }
  return children;
}

function Factor({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title}>
      <Divider mb="sm" />
      <Title order={2} size="h5" mb={4}>
        {title}
      </Title>
      {children}
    </section>
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
