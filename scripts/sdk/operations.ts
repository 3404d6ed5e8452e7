import { dereference } from '../../src/http/openapi/describeSchema.ts';
import { type Document, pascalCase, type Schema } from '../../src/http/openapi/document.ts';
import { type Method, readRefName } from '../../src/http/openapi/methods.ts';

/** The name of an event's schema: `patient.created` → `PatientCreatedEvent`. */
export function eventName(document: Document, type: string): string {
  const schema = document.webhooks[type]?.post.requestBody.content['application/json'].schema ?? {};
  const name = readRefName(schema);
  if (name === undefined) throw new Error(`The event ${type} has no named schema.`);
  return name;
}

/** All error codes that the public API returns. */
export function errorCodes(document: Document): string[] {
  const operations = Object.values(dereference(document).paths).flatMap((item) => Object.values(item));
  const responses = operations.flatMap(({ responses }) => Object.entries(responses));
  const codes = responses.flatMap(([status, { content = {} }]) =>
    status.startsWith('2') ? [] : Object.values(content).flatMap(({ examples = {} }) => Object.keys(examples)),
  );
  return [...new Set(codes)].sort();
}

/** All resources, inner ones first, because a class must be defined before it is used; last the client itself. */
export function listResources(methods: readonly Method[]): string[][] {
  const paths = methods.flatMap(({ resource }) => resource.map((_, index) => resource.slice(0, index + 1)));
  const unique = [...new Map(paths.map((path) => [path.join('.'), path])).values()];
  return [...unique.sort((a, b) => b.length - a.length), []];
}

/** What belongs to a resource: the resources below it, and its own methods. */
export function listMembers(methods: readonly Method[], resource: string[]): { inner: string[][]; own: Method[] } {
  const key = resource.join('.');
  return {
    inner: listResources(methods).filter(
      (path) => path.length === resource.length + 1 && path.slice(0, -1).join('.') === key,
    ),
    own: methods.filter((method) => method.resource.join('.') === key),
  };
}

/** The name of a schema's type. Both languages have errors with the names of these two. */
export function typeName(name: string): string {
  return name === 'Error' || name === 'LoginRequiredError' ? `${name}Body` : name;
}

export function className(resource: string[]): string {
  return `${resource.map(pascalCase).join('')}Resource`;
}

export function responseName({ operation }: Method): string {
  return `${pascalCase(operation.operationId)}Response`;
}

/** The explanations of an enum's values. */
export function valueTexts(schema: Schema): [value: string, text: string][] {
  const described = [schema, ...(schema.anyOf ?? [])].find((each) => each['x-enumDescriptions']);
  return Object.entries(described?.['x-enumDescriptions'] ?? {});
}
