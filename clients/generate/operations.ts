import type { Node, Prepared } from './prepare.ts';

/** What a call gives: a value, a page, a text, nothing, or for everything else the reply itself. */
export type Reply = 'json' | 'page' | 'raw' | 'text' | 'empty';

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly schema: Node;
  readonly description: string;
}

/** What generators need of one operation. */
export interface Operation {
  readonly id: string;
  readonly method: string;
  /** With `{name}` for each parameter. */
  readonly path: string;
  readonly summary: string;
  readonly isDeprecated: boolean;
  readonly parameters: readonly Parameter[];
  /** `fields`: the fields of an object are arguments of the call. `whole`: one argument, `body`. */
  readonly body: 'none' | 'fields' | 'whole' | 'form' | 'upload';
  /** Component of the body; null for content of any kind. */
  readonly bodySchema: string | null;
  readonly isBodyRequired: boolean;
  readonly reply: Reply;
  /** Component of the reply's JSON; null without one. */
  readonly replySchema: string | null;
  /** Takes an Idempotency-Key, and may therefore be sent again. */
  readonly takesKey: boolean;
  readonly ifMatch: 'optional' | 'required' | null;
  readonly isStream: boolean;
  /** Needs no credential, so none is sent. */
  readonly isAnonymous: boolean;
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: Node }>>;
}

/** Every operation of the document, in its order. Throws if an argument would have two meanings. */
export function operationsOf({ document }: Prepared): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => read(path, method, operation, document.components.schemas)),
  );
}

function read(path: string, method: string, operation: Node, schemas: Record<string, Node>): Operation {
  const id = String(operation['operationId']);
  const parameters = ((operation['parameters'] ?? []) as Partial<Parameter>[]).filter(isNamed);
  const { media, schema } = firstContent((operation['requestBody'] ?? {}) as Content); // of an OpenAPI operation
  const bodySchema = refOf(schema);
  const body = bodyOf(media, bodySchema, schemas);
  const fields = body === 'none' || bodySchema === null ? [] : Object.keys((schemas[bodySchema]?.['properties'] ?? {}) as Node);
  const clash = parameters.find(({ name }) => fields.includes(name));
  if (clash) throw new Error(`${id} has ${clash.name} as a parameter and in its body`);

  const replies = Object.entries(operation['responses'] as Record<string, Content>).filter(([status]) => status.startsWith('2'));
  const types = replies.flatMap(([, { content = {} }]) => Object.keys(content));
  const replySchema = refOf(replies.map(([, { content }]) => content?.['application/json']?.schema).find(Boolean));
  return {
    id,
    method: method.toUpperCase(),
    path,
    summary: String(operation['summary']),
    isDeprecated: operation['deprecated'] === true,
    parameters,
    body,
    bodySchema,
    isBodyRequired: (operation['requestBody'] as Node | undefined)?.['required'] === true,
    reply: replyOf(types, replySchema, parameters),
    replySchema,
    takesKey: operation['x-idempotency'] === true,
    ifMatch: (operation['x-if-match'] ?? null) as Operation['ifMatch'], // pinned by the document's gates
    isStream:
      types.includes('text/event-stream') && !types.includes('application/json') && parameters.some(({ name }) => name === 'after_seq'),
    isAnonymous: operation['x-access'] === 'none',
  };
}

function isNamed(parameter: Partial<Parameter>): parameter is Parameter {
  return parameter.name !== undefined && parameter.in !== 'header';
}

function firstContent({ content = {} }: Content): { readonly media: string | null; readonly schema: Node } {
  const [first] = Object.entries(content);
  return first ? { media: first[0], schema: first[1].schema } : { media: null, schema: {} };
}

function bodyOf(media: string | null, bodySchema: string | null, schemas: Record<string, Node>): Operation['body'] {
  if (media === null) return 'none';
  if (media === 'multipart/form-data') return 'upload';
  if (media === 'application/x-www-form-urlencoded') return 'form';
  if (bodySchema === null) return 'whole';
  return schemas[bodySchema]?.['type'] === 'object' ? 'fields' : 'whole';
}

function replyOf(types: readonly string[], replySchema: string | null, parameters: readonly Parameter[]): Reply {
  if (replySchema?.startsWith('Page_') && parameters.some(({ name }) => name === 'cursor')) return 'page';
  if (types.length === 0) return 'empty';
  const kinds = new Set(types);
  if (kinds.has('application/json')) return kinds.has('text/event-stream') || kinds.has('*/*') ? 'raw' : 'json';
  return types.every((type) => type === 'text/plain' || type === 'text/html') ? 'text' : 'raw';
}

function refOf(schema: Node | undefined): string | null {
  const ref = schema?.['$ref'];
  return typeof ref === 'string' ? (ref.split('/').at(-1) ?? null) : null;
}
