import { Alert, Button, Text } from '@mantine/core';
import { Component, type ReactNode } from 'react';

type Shape = { place: string; children: ReactNode };
type State = { place: string; failed: boolean };

/**
 * Says that a page could not be shown where the page would be, and leaves the menu beside it. Most often a part of the
 * dashboard could not be loaded: the service is away, or was updated since and names its files otherwise. A class,
 * since React knows no other way to catch what is thrown while drawing.
 */
export class Catch extends Component<Shape, State> {
  override state: State = { place: this.props.place, failed: false };

  static getDerivedStateFromError(): Partial<State> {
    return { failed: true };
  }

  /** Another place is another try. */
  static getDerivedStateFromProps({ place }: Shape, before: State): State | null {
    return place === before.place ? null : { place, failed: false };
  }

  override render(): ReactNode {
    if (!this.state.failed) return this.props.children;
    return (
      <Alert color="red" role="alert" title="This page cannot be shown">
        <Text size="sm" mb="sm">
          The service may be out of reach, or was updated while this window was open.
        </Text>
        <Button size="compact-sm" variant="light" color="red" onClick={() => window.location.reload()}>
          Load it anew
        </Button>
      </Alert>
    );
  }
}
