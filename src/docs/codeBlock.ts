import { type Html, html } from './html.ts';

/** A code block with a copy button. It is focusable, so that it can be scrolled with the keyboard. */
export function codeBlock(title: string, text: string, language: 'json' | 'shell' | 'javascript' = 'json'): Html {
  return html`<figure class="code"><figcaption><span>${title}</span>
<button type="button" class="copy" hidden aria-label="Copy: ${title}">Copy</button></figcaption>
<pre tabindex="0" role="group" aria-label="${title}"><code class="${language}">${text}</code></pre></figure>`;
}

export function jsonBlock(title: string, value: unknown): Html {
  return codeBlock(title, JSON.stringify(value, null, 2));
}
