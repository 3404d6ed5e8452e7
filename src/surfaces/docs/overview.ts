import { text_max } from '../../model/fields.ts';
import type { Document } from '../../http/openapi/document.ts';
import { resourcePages, resourcesOf } from './resources.ts';

/** The first page of the API reference, as Markdown: what all operations have in common, and a list of them. */
export function overviewMarkdown(document: Document): string {
  const headers = Object.entries(document.components.securitySchemes);
  return `# API reference

The base URL is \`${document.servers[0]?.url ?? ''}\`. Requests and responses are JSON, except for document uploads, which are multipart forms. [openapi.json](/openapi.json) describes the API as OpenAPI 3.1, for code generators and API clients. The [client libraries](/docs/client-libraries) are generated from it.

## Authentication

Every request carries your application’s credentials, and most also carry the access token of a linked EMR account. Each operation lists the headers it needs.

| Header | Description |
|---|---|
${headers.map(([name, { description }]) => `| \`${name}\` | ${description} |`).join('\n')}

Some proxies drop header names with underscores. \`client-id\`, \`client-secret\` and \`access-token\` are accepted too.

## Requests

Bodies are checked strictly: an unknown field or query parameter is an error, and no value is converted (\`"5"\` is not 5). Text is trimmed, and a blank value counts as missing. On PATCH, \`null\` clears an optional field. A JSON body can be up to 1 MB, and a text without a stated limit up to ${text_max.toLocaleString('en-US')} characters.

Writes are accepted immediately and performed by a job. The response has its \`job_id\`, and the outcome is sent as an [event](/docs/reference/events). See [Concepts](/docs/concepts).

Send an \`Idempotency-Key\` with a POST or PATCH request, so that you can [retry it safely](/docs/errors-and-retries#idempotency).

## Responses

Every response has \`success\` and the header \`x-request-id\`. Fields of a record are always present: \`null\` or an empty array means that the value is unknown. IDs are strings of 32 hexadecimal characters; a \`job_id\` is a number in responses and a string in events. Errors have a stable [code](/docs/reference/errors).

## Lists

Lists are paginated with \`page\` (from 1) and \`page_size\`. \`pagination\` in the response has \`page\`, \`current_page\` (the same number), \`page_size\`, \`total_count\` and \`total_pages\`. Lists of EMR records show the state of the last sync. Until the first sync of a list has finished, its response has \`"sync": { "state": "pending" }\`.

## Limits

Requests over a client’s rate limit get 429 with \`retry-after\`. Responses to authenticated requests have the headers \`ratelimit-limit\`, \`ratelimit-remaining\` and \`ratelimit-reset\`. The limit is a [setting](/docs/reference/settings).

## Versions

\`/v1\` only grows: fields, events, codes and optional parameters are added, none are removed. Ignore fields that you do not know, and accept new enum values. See [Changes](/docs/reference/changes).

## Operations

${resourcePages()
  .map(({ page, groups }) => {
    const calls = resourcesOf(document, groups).flatMap((resource) => resource.calls);
    const rows = calls.map(
      ({ method, path, operation }) =>
        `| \`${method.toUpperCase()}\` | \`${path}\` | [${operation.summary}](${page.path}#${operation.operationId}) |`,
    );
    return `### ${page.title}\n\n| Method | Path | Operation |\n|---|---|---|\n${rows.join('\n')}`;
  })
  .join('\n\n')}
`;
}
