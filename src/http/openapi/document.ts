/** The parts of OpenAPI 3.1 that our document uses. */
export type Document = {
  openapi: '3.1.0';
  info: { title: string; version: string; description: string; license: { name: string; identifier: string } };
  servers: { url: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, { post: EventCall }>;
  components: {
    schemas: Record<string, Schema>;
    /** The bodies of errors, by code, if they are the same for every endpoint. */
    examples: Record<string, Example>;
    /** The error responses that several endpoints have. */
    responses: Record<string, Response>;
    securitySchemes: Record<string, { type: 'apiKey'; in: 'header'; name: string; description: string }>;
  };
};

export type Operation = {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  security: Record<string, string[]>[];
  parameters: Parameter[];
  requestBody?: { required: boolean; content: Record<string, Content> };
  responses: Record<string, Response>;
  /** A vendor extension that several documentation tools understand. */
  'x-codeSamples': CodeSample[];
  /** The events that report the outcome of an accepted request. */
  'x-events'?: string[];
  /** For the "Try it" forms: where to find values of this installation, and a question to ask before sending. */
  'x-found-in'?: Record<string, string>;
  'x-confirm'?: string;
  'x-sandbox'?: true;
  /** The request only reads, although it is a POST. */
  'x-reads'?: true;
  /** It takes `dry_run`, and then returns `DryRun`. */
  'x-dry-run'?: true;
};

export type CodeSample = { lang: 'Shell' | 'TypeScript' | 'Python'; label: string; source: string };

export type Parameter = {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  description?: string;
  schema: Schema;
  example?: unknown;
};

export type Content = { schema: Schema; example?: unknown; examples?: Record<string, Example> };
/** A value, or a reference to one in `components`. */
export type Example = { $ref?: string; value?: unknown };
/** A response, or a reference to one in `components`. */
export type Response = { $ref?: string; description?: string; content?: Record<string, Content> };
export type EventCall = {
  operationId: string;
  summary: string;
  /** Our requests are signed (Standard Webhooks); they carry no credentials of the receiver. */
  security: [];
  requestBody: { required: true; content: { 'application/json': Content } };
  responses: Record<string, Response>;
};

/** The parts of JSON Schema 2020-12 that our schemas use. */
export type Schema = {
  $ref?: string;
  type?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  allOf?: Schema[];
  oneOf?: Schema[];
  discriminator?: { propertyName: string; mapping: Record<string, string> };
  items?: Schema;
  properties?: Record<string, Schema>;
  patternProperties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  description?: string | undefined;
  /** Explains each value of `enum`. A vendor extension that several documentation tools understand. */
  'x-enumDescriptions'?: Record<string, string>;
  default?: unknown;
  format?: string;
  pattern?: string;
  contentMediaType?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  examples?: unknown[];
};

/** Names of operations, events and codes in the style of a programming language. */

/** `patient.created`, `rate_limited` → `PatientCreated`, `RateLimited`. */
export function pascalCase(name: string): string {
  return name.replace(/(?:^|[._-])(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** `telephone-encounters` → `telephoneEncounters`. */
export function camelCase(name: string): string {
  const pascal = pascalCase(name);
  return pascal.charAt(0).toLowerCase() + pascal.slice(1);
}

/** `telephone-encounters` → `telephone_encounters`. */
export function snakeCase(name: string): string {
  return name.replaceAll('-', '_');
}
