import { credentials } from './credentials.ts';
import type { Request } from './request.ts';

/** The request of a curl command, as the guides have them: `-X`, `-H`, `-d` and a URL of this service. */
export function parseCurl(command: string): Request {
  const words = splitWords(command);
  const request: Request = { method: 'GET', url: '', headers: {}, body: undefined };
  for (let index = 1; index < words.length; index += 1) {
    const word = words[index] ?? '';
    const value = words[index + 1] ?? '';
    if (word === '-X') request.method = value;
    else if (word === '-H') {
      const [name = '', ...rest] = value.split(':');
      request.headers[name] = rest.join(':').trim();
    } else if (word === '-d') {
      request.body = value;
      if (request.method === 'GET') request.method = 'POST';
    } else {
      // To this service, by whichever name the page was opened.
      if (!word.startsWith('-')) request.url = word.replace(/^https?:\/\/[^/]+/, '');
      continue;
    }
    index += 1;
  }
  return request;
}

/** As a shell does, as far as the guides need it: quotes, lines joined by a backslash, variables of credentials. */
function splitWords(command: string): string[] {
  const words = command.replaceAll('\\\n', ' ').match(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g) ?? [];
  return words.map((word) =>
    word.replace(/'([^']*)'|"([^"]*)"/g, (_, plain?: string, expanded?: string) => plain ?? expand(expanded ?? '')),
  );
}

function expand(text: string): string {
  return text.replace(/\$(\w+)/g, (_, name: string) => credentials([name.toLowerCase()])[name.toLowerCase()] ?? '');
}
