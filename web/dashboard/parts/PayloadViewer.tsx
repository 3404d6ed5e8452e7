import { Code, Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { CopyValue } from './values.tsx';

/** Beyond this, coloring would take longer than a frame. */
const colored_characters_max = 100_000;

type Props = {
  text: string;
  /** The accessible name of the box, and the text above it. */
  label: string;
  /** More buttons, next to the one that copies the text. */
  actions?: ReactNode;
};

/** The body of a request or response, with a button that copies it as it was sent. JSON is indented and colored. */
export function PayloadViewer({ text, label, actions }: Props) {
  const indented = indentJson(text);
  return (
    <section aria-label={label} className="payload">
      <Group justify="space-between" gap="xs" className="payload-head">
        <Text size="xs" fw={600} c="dimmed">
          {label} · {formatBytes(new TextEncoder().encode(text).length)}
        </Text>
        <Group gap="xs">
          {actions}
          <CopyValue value={text}>{`Copy ${label.toLowerCase()}`}</CopyValue>
        </Group>
      </Group>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard. */}
      <div className="payload-text" tabIndex={0}>
        <Code block>{indented === undefined ? text : colorJson(indented)}</Code>
      </div>
    </section>
  );
}

/** `1.2 KB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

function indentJson(text: string): string | undefined {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return undefined;
  }
}

/** Strings, with the colon of a field's name; numbers; literals. */
const tokens = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*)|(true|false|null)/g;

function colorJson(text: string): ReactNode {
  if (text.length > colored_characters_max) return text;
  const parts: ReactNode[] = [];
  let end = 0;
  for (const match of text.matchAll(tokens)) {
    const [whole, string, colon, number] = match;
    const kind = string === undefined ? (number === undefined ? 'literal' : 'number') : colon ? 'name' : 'string';
    parts.push(
      text.slice(end, match.index),
      <span key={match.index} className={`json-${kind}`}>
        {string ?? whole}
      </span>,
      colon,
    );
    end = match.index + whole.length;
  }
  return [...parts, text.slice(end)];
}
