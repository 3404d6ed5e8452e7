/** The parts of an OpenAPI 3.1 document that ours has. */
export type Document = {
  openapi: '3.1.0';
  info: { title: string; version: string; description: string; license: { name: string; identifier: string } };
  servers: { url: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, { post: EventCall }>;
  components: { securitySchemes: Record<string, { type: 'apiKey'; in: 'header'; name: string; description: string }> };
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
  /** The request as a command, in the form that other reference pages read too. */
  'x-codeSamples': { lang: 'Shell'; label: 'curl'; source: string }[];
  /** The events in which an accepted request ends. */
  'x-events'?: string[];
  /** For try-it: where values of this installation are found, and what is asked before sending. */
  'x-found-in'?: Record<string, string>;
  'x-confirm'?: string;
  'x-sandbox'?: true;
};

export type Parameter = {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  description?: string;
  schema: Schema;
  example?: unknown;
};

export type Content = { schema: Schema; example?: unknown; examples?: Record<string, { value: unknown }> };
export type Response = { description: string; content?: Record<string, Content> };
export type EventCall = {
  summary: string;
  requestBody: { required: true; content: { 'application/json': Content } };
  responses: Record<string, Response>;
};

/** JSON Schema 2020-12, as far as it is used here. */
export type Schema = {
  type?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  patternProperties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  description?: string;
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
