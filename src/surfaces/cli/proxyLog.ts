import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The files below nginx's configuration that pass requests to our port and log them with their query strings: nginx's
 * own format does, so a file must name another one or turn the log off.
 */
export async function findQueryLogs(folder: string, port: number): Promise<string[]> {
  const paths = await readdir(folder, { recursive: true }).catch(() => []);
  const files = await Promise.all(
    paths
      .filter((path) => /^(nginx\.conf|conf\.d\/.*\.conf|sites-enabled\/.*)$/.test(path))
      .map(async (path) => ({ path: join(folder, path), text: await readConfiguration(join(folder, path)) })),
  );
  const formats = new Map(
    files.flatMap(({ text }) =>
      [...text.matchAll(/\blog_format\s+(\w+)\s+([^;]*);/g)].map(([, name = '', format = '']) => [name, format]),
    ),
  );
  const isSafe = (text: string) => {
    const logs = [...text.matchAll(/\baccess_log\s+(\S+?)(?:\s+(\w+)[^;]*)?;/g)];
    return (
      logs.length > 0 &&
      logs.every(([, to, name = 'combined']) => to === 'off' || !with_query.test(formats.get(name) ?? '$request'))
    );
  };
  const ours = new RegExp(`\\bproxy_pass\\s+https?://[^;]*:${port}\\b`);
  return files.filter(({ text }) => ours.test(text) && !isSafe(text)).map(({ path }) => path);
}

/** Variables of nginx that contain the query string, or that of the page that the request came from. */
const with_query = /\$(request(?![\w])|request_uri|args|query_string|http_referer|is_args)\b/;

/** Without comments. Empty if it cannot be read. */
async function readConfiguration(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch(() => '');
  return text.replace(/^\s*#.*$/gm, '');
}
