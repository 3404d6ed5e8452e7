import { posix } from 'node:path';
import { Marked, type Token, type Tokens } from 'marked';
import { findDiagram } from './diagrams/diagrams.ts';
import { breakable, codeBlock, Html, html } from './html.ts';
import { markdownPath, pages } from './navigation.ts';

export type Heading = { id: string; title: string; depth: number };
export type RenderedMarkdown = { html: Html; headings: Heading[] };
/** A table with more columns is wider than the text. */
const columns_max = 6;

/** A part of a page under one heading, for the search. */
export type TextSection = { id: string; title: string; text: string };

/** Renders Markdown of this repository. HTML in it is not rendered: comments are dropped, the rest is escaped. */
export function renderMarkdown(markdown: string): RenderedMarkdown {
  const headings = listHeadings(new Marked().lexer(markdown));
  let next = 0;
  let in_table = false;
  const marked = new Marked({
    // Addresses in the text are examples, such as http://HOST:PORT.
    tokenizer: { url: () => undefined },
    renderer: {
      heading({ tokens, depth }) {
        const { id = '' } = headings[next++] ?? {};
        const content = new Html(this.parser.parseInline(tokens));
        if (depth === 1) return html`<h1>${content}</h1>\n`.text;
        const tag = new Html(`h${depth}`);
        return html`<${tag} id="${id}"><a class="anchor" href="#${id}">${content}</a></${tag}>\n`.text;
      },
      code({ text, lang = '' }) {
        const [language = '', ...marks] = lang.split(' ');
        return codeBlock(titles[language] ?? '', text, language, { run: marks.includes('run') }).text;
      },
      html({ text }) {
        return text.startsWith('<!--') ? '' : html`${text}`.text;
      },
      image({ href, text }) {
        return (findDiagram(href, text) ?? html`<img src="${href}" alt="${text}" loading="lazy">`).text;
      },
      codespan({ text }) {
        return html`<code>${in_table ? breakable(text) : text}</code>`.text;
      },
      table({ header, rows }) {
        in_table = true;
        const content = ({ tokens }: Tokens.TableCell) => new Html(this.parser.parseInline(tokens));
        // A table without titles is a list of terms.
        const head = header.some(({ text }) => text !== '') && header.map((cell) => th(content(cell)));
        const body = rows.map((row) =>
          row.map((cell, index) => td(content(cell), plainText(header[index]?.text ?? ''))),
        );
        in_table = false;
        const of_table = html`<table role="table">${head && html`<thead role="rowgroup"><tr role="row">${head}</tr></thead>`}
<tbody role="rowgroup">${body.map((cells) => html`<tr role="row">${cells}</tr>\n`)}</tbody></table>`;
        // Scrolls in its own box, which the keyboard must reach.
        const wide = header.length > columns_max;
        const label = `Table by ${header[0]?.text.toLowerCase()}`;
        return `${wide ? html`<div class="wide-table" role="region" tabindex="0" aria-label="${label}">${of_table}</div>`.text : of_table.text}\n`;
      },
    },
  });
  return { html: new Html(marked.parse(markdown, { async: false })), headings };
}

function th(content: Html): Html {
  return html`<th scope="col" role="columnheader">${content}</th>`;
}

/** Narrow screens show rows as blocks, with the title of the column before each cell. */
function td(content: Html, title: string): Html {
  return html`<td role="cell"${title !== '' && html` data-title="${title}"`}>${content}</td>`;
}

/** The text of a page by heading. */
export function textSections(markdown: string): TextSection[] {
  const tokens = new Marked().lexer(markdown);
  const headings = listHeadings(tokens);
  const sections: TextSection[] = [];
  for (const token of tokens) {
    if (token.type === 'heading') {
      const { id = '', title = '', depth = 1 } = headings[sections.length] ?? {};
      sections.push({ id: depth === 1 ? '' : id, title, text: '' });
    } else {
      const section = sections.at(-1);
      if (section && token.type !== 'html') section.text = `${section.text} ${plainText(token.raw)}`.trim();
    }
  }
  return sections;
}

/**
 * Rewrites the links of a file of the repository to pages of the site, or to the Markdown of the pages. A link to a
 * file that is not part of the site becomes text with the name of the file.
 */
export function rewriteLinks(markdown: string, file: string, to: 'pages' | 'markdown'): string {
  const parts = markdown.split(/^(```[\s\S]*?^```)/m);
  return parts.map((part, index) => (index % 2 === 1 ? part : rewritePart(part, file, to))).join('');
}

function rewritePart(prose: string, file: string, to: 'pages' | 'markdown'): string {
  return prose.replace(/(!?)\[([^\]]*)\]\(([^)\s]+)\)/g, (link, mark: string, text: string, target: string) => {
    if (/^(https?:|#|\/)/.test(target)) return link;
    const [path = '', anchor] = target.split('#');
    const linked_file = posix.normalize(posix.join(posix.dirname(file), path));
    const address = findAddress(linked_file, to);
    if (address === undefined)
      return text.includes(posix.basename(linked_file)) ? text : `${text} (\`${linked_file}\`)`;
    return `${mark}[${text}](${address}${anchor === undefined ? '' : `#${anchor}`})`;
  });
}

function findAddress(file: string, to: 'pages' | 'markdown'): string | undefined {
  if (file.startsWith('docs/images/')) return `/${file}`;
  if (file === 'docs/reference/openapi.json') return '/openapi.json';
  const page = pages.find(({ content }) => content !== 'overview' && 'file' in content && content.file === file);
  return page && (to === 'pages' ? page.path : markdownPath(page));
}

/** Headings with the ids that GitHub derives, so that a link works there and here. */
function listHeadings(tokens: Token[]): Heading[] {
  const used = new Map<string, number>();
  return tokens
    .filter((token): token is Tokens.Heading => token.type === 'heading')
    .map(({ text, depth }) => {
      const title = plainText(text);
      const slug = title
        .toLowerCase()
        .replace(/[^\p{L}\p{N}_\- ]/gu, '')
        .replaceAll(' ', '-');
      const count = used.get(slug) ?? 0;
      used.set(slug, count + 1);
      return { id: count === 0 ? slug : `${slug}-${count}`, title, depth };
    });
}

/** Text without the marks of Markdown. Underscores stay: they are part of names. */
function plainText(markdown: string): string {
  return markdown
    .replace(/^```.*$/gm, '')
    .replace(/^\|[-| ]+\|$/gm, '')
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[`*|]/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
}

const titles: Record<string, string> = {
  bash: 'Shell',
  sh: 'Shell',
  shell: 'Shell',
  ts: 'TypeScript',
  tsx: 'TypeScript',
  js: 'JavaScript',
  javascript: 'JavaScript',
  python: 'Python',
  json: 'JSON',
  html: 'HTML',
  sql: 'SQL',
  yaml: 'YAML',
  nginx: 'nginx',
};
