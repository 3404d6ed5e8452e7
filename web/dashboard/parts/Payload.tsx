import { Code } from '@mantine/core';

/** A text that was sent or received: JSON with its lines broken, anything else as it is. */
export function Payload({ text, label }: { text: string; label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a frame that scrolls must be reachable.
    <section className="scroll" aria-label={label} tabIndex={0}>
      <Code block mah={480}>
        {pretty(text)}
      </Code>
    </section>
  );
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
