import { Alert, Button, Group, Text } from '@mantine/core';
import { Component, type ReactNode } from 'react';
import type { ApiError } from '../service/api.ts';
import { fieldLabel } from './labels.ts';

/** An API error, with a button to retry where that makes sense. */
export function ErrorAlert({ error, retry }: { error: ApiError; retry?: () => unknown }) {
  return (
    <Alert color={error.code === 'approval_required' ? 'blue' : 'red'} role="alert" my="sm">
      <Group justify="space-between" align="flex-start">
        <div>
          <Text size="sm">{describeError(error)}</Text>
          {error.status >= 500 && error.request_id && (
            <Text size="xs" c="dimmed">
              Request ID: {error.request_id}
            </Text>
          )}
        </div>
        {retry && (
          <Button size="compact-sm" variant="default" onClick={() => retry()}>
            Retry
          </Button>
        )}
      </Group>
    </Alert>
  );
}

type Props = { location: string; children: ReactNode };
type State = { location: string; failed: boolean };

/**
 * Replaces a page that failed to render and keeps the menu usable. The usual cause is a script that cannot be loaded:
 * the service is down, or was updated and has other file names now. A class, because React has no hook for this.
 */
export class ErrorBoundary extends Component<Props, State> {
  override state: State = { location: this.props.location, failed: false };

  static getDerivedStateFromError(): Partial<State> {
    return { failed: true };
  }

  /** Navigation clears the error. */
  static getDerivedStateFromProps({ location }: Props, before: State): State | null {
    return location === before.location ? null : { location, failed: false };
  }

  override render(): ReactNode {
    if (!this.state.failed) return this.props.children;
    return (
      <Alert color="red" role="alert" title="This page could not be loaded">
        <Text size="sm" mb="sm">
          The service may be down, or it was updated while this page was open.
        </Text>
        <Button size="compact-sm" variant="default" onClick={() => window.location.reload()}>
          Reload
        </Button>
      </Alert>
    );
  }
}

/** The message of an error about this field of a form, which has a label of its own. */
export function errorAt(error: ApiError | null, field: string): string | undefined {
  if (error?.field !== field) return undefined;
  const rule = error.message.startsWith(`${field} `) ? error.message.slice(field.length + 1) : describeError(error);
  return rule.replace(/^./, (letter) => letter.toUpperCase());
}

/** The message with the field's label instead of its API name. */
function describeError({ message, field }: ApiError): string {
  return field === undefined ? message : message.replaceAll(field, fieldLabel(field.split('.').at(-1) ?? field));
}
