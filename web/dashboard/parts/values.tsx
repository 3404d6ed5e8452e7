import { Button, Code, CopyButton, Group } from '@mantine/core';
import { Fragment, type ReactNode } from 'react';

/** Names and values of one record. Missing values are shown as a dash. */
export function Fields({ of }: { of: Record<string, ReactNode> }) {
  return (
    <dl className="fields">
      {Object.entries(of).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value === null || value === undefined || value === '' ? '–' : value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** The practice of an account and, below it, its user. Both are ids that the client chose. */
export function AccountName({ account }: { account: { org_id: string; user_id: string } }) {
  return (
    <div className="own-id">
      {account.org_id}
      <div className="secondary">{account.user_id}</div>
    </div>
  );
}

/** The name of an event type, which may wrap after a dot or an underscore, but not inside a word. */
export function EventName({ name }: { name: string }) {
  const parts = name.split(/(?<=[._])/);
  return parts.map((part, n) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one name never change their order.
    <Fragment key={n}>
      {n > 0 && <wbr />}
      {part}
    </Fragment>
  ));
}

/** A value with a button that copies it. */
export function Copyable({ value, label }: { value: string; label: string }) {
  return (
    <Group gap="xs" wrap="nowrap">
      <Code className="breakable">{value}</Code>
      <CopyButton value={value}>
        {({ copied, copy }) => (
          <Button size="compact-xs" variant="default" flex="none" onClick={copy} aria-label={`Copy ${label}`}>
            {copied ? 'Copied' : 'Copy'}
          </Button>
        )}
      </CopyButton>
    </Group>
  );
}

/** A button that copies a value that is not shown. */
export function CopyValue({ value, children }: { value: string; children: string }) {
  return (
    <CopyButton value={value}>
      {({ copied, copy }) => (
        <Button size="compact-sm" variant="default" onClick={copy}>
          {copied ? 'Copied' : children}
        </Button>
      )}
    </CopyButton>
  );
}
