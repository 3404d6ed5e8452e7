import type { CodeSample } from '../../http/openapi/document.ts';
import { type Html, html } from './html.ts';

/** A code block with a copy button. It is focusable, so that it can be scrolled with the keyboard. */
export function codeBlock(title: string, text: string, language = 'json'): Html {
  return html`<figure class="code"><figcaption><span>${title}</span>${copyButton(title)}</figcaption>
${code(title, text, language)}</figure>`;
}

export function jsonBlock(title: string, value: unknown): Html {
  return codeBlock(title, JSON.stringify(value, null, 2));
}

/**
 * The same request in several languages, as tabs. The style sheet shows the reader's language, which `data-language` of
 * the root element names; without scripts, all are shown below each other.
 */
export function sampleTabs(id: string, samples: readonly CodeSample[]): Html {
  const tab = ({ label }: CodeSample, index: number) => {
    const name = label.toLowerCase();
    return html`<button type="button" role="tab" id="${id}.tab.${name}" data-language="${name}"
 aria-controls="${id}.${name}" aria-selected="${index === 0 ? 'true' : 'false'}"${index > 0 && html` tabindex="-1"`}>${label}</button>`;
  };
  const panel = ({ label, source }: CodeSample) => {
    const name = label.toLowerCase();
    return html`<div class="sample ${name}" role="tabpanel" id="${id}.${name}" aria-labelledby="${id}.tab.${name}">
${code(`Request: ${label}`, source, name)}</div>`;
  };
  const [first] = samples;
  if (!first) return html``;
  if (samples.length === 1) return codeBlock('Request', first.source, 'shell');
  return html`<figure class="code samples"><figcaption><div role="tablist" aria-label="Language">${samples.map(tab)}</div>
${copyButton('Request')}</figcaption>${samples.map(panel)}</figure>`;
}

function copyButton(title: string): Html {
  return html`<button type="button" class="copy" hidden aria-label="Copy${title && `: ${title}`}">Copy</button>`;
}

function code(title: string, text: string, language: string): Html {
  return html`<pre tabindex="0" role="group" aria-label="${title || 'Code'}"><code class="${language}">${text}</code></pre>`;
}
