import { Modal, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { Section } from '../../../parts/layout.tsx';
import { useSession } from '../../../service/session.tsx';
import { AuthenticatorApp } from './AuthenticatorApp.tsx';
import { Passkeys } from './Passkeys.tsx';
import { PasswordForm } from './PasswordForm.tsx';
import { NewRecoveryCodes, RecoveryCodes } from './RecoveryCodes.tsx';
import { Sessions } from './Sessions.tsx';

/** The operator's own password, second factors and sessions. */
export function MyAccount() {
  const { operator, method } = useSession();
  const [codes, setCodes] = useState<string[]>([]);
  if (method === 'single_sign_on') {
    return (
      <Stack maw={640}>
        <Section title="Sign-in">
          <Text size="sm">
            You use single sign-on. Your identity provider manages your password, second factor and role.
          </Text>
        </Section>
        <Section title="Sessions">
          <Sessions />
        </Section>
      </Stack>
    );
  }
  return (
    <Stack maw={640}>
      <Section title="Password">
        <PasswordForm />
      </Section>
      <Section title="Passkeys">
        <Passkeys onCodes={setCodes} />
      </Section>
      <Section title="Authenticator app">
        <AuthenticatorApp onCodes={setCodes} />
      </Section>
      {(operator.totp || operator.passkeys > 0) && (
        <Section title="Recovery codes">
          <RecoveryCodes onCodes={setCodes} />
        </Section>
      )}
      <Section title="Sessions">
        <Sessions />
      </Section>
      <Modal
        opened={codes.length > 0}
        onClose={() => setCodes([])}
        title="Your recovery codes"
        withCloseButton={false}
        // They are not shown again, so a stray click or key must not close them.
        closeOnClickOutside={false}
        closeOnEscape={false}
      >
        <NewRecoveryCodes codes={codes} onDone={() => setCodes([])} />
      </Modal>
    </Stack>
  );
}
