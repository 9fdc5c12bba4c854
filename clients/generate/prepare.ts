/** Any node of the printed document. */
export type Node = Record<string, unknown>;

export interface Prepared {
  /** The served document as `prepare` changes it; frames of the stream protocol are components of it. */
  readonly document: Node & {
    readonly paths: Record<string, Record<string, Node>>;
    readonly components: { readonly schemas: Record<string, Node> };
  };
  /** Version of the contract. */
  readonly version: string;
  /** The error codes, in the order of the catalogue. */
  readonly codes: readonly string[];
}

/**
 * Makes the served document fit for types. Clients validate nothing, and must live with what later releases add to a reply. So what a reply may hold
 * is open (`additionalProperties: false` is taken off), and values marked `x-extensible-enum` are any string. Examples are left out. Bodies of requests stay closed: there a wrong name
 * is a mistake of the caller. The stream protocol's frames become components (`RunStartedData`, … and `Frame`), since the document calls a stream a text.
 *
 * @param served what `GET /openapi.json` serves, operator operations included
 * @param protocol what `GET /stream-protocol` serves
 */
export function prepare(served: Node, protocol: Node): Prepared {
  const document = structuredClone(served) as Prepared['document']; // checked by the gates of the document
  const { schemas } = document.components;
  const frames = frameSchemas(protocol);
  const clash = Object.keys(frames).find((name) => name in schemas);
  if (clash !== undefined) throw new Error(`the document has a component ${clash} already`);
  Object.assign(schemas, frames);

  for (const name of reachableFromReplies(document)) open(schemas[name]);
  walk(document, (node) => {
    delete node['x-codeSamples'];
    delete node['example'];
    delete node['examples'];
    const known = node['x-extensible-enum'];
    if (!Array.isArray(known)) return;
    delete node['enum'];
    const said = node['description'] === undefined ? '' : `${String(node['description'])}. `;
    node['description'] = `${said}Known values: ${known.join(', ')}`;
  });
  const envelope = schemas['ErrorEnvelope'] as { properties: { code: { enum: string[] } } }; // the catalogue's type, pinned by the contract tests
  return { document, version: (served['info'] as { version: string }).version, codes: [...envelope.properties.code.enum] };
}

/** The schemas of the stream protocol as components: a frame's data by its type, and `Frame`, which is one of them in its envelope. */
function frameSchemas(protocol: Node): Record<string, Node> {
  const { $schema: _, properties, description: __, ...envelope } = protocol['envelope'] as Node & { properties: Node }; // a JSON Schema
  const frames = protocol['frames'] as { type: string; description: string; schema: Node }[]; // pinned by the document
  const schemas: Record<string, Node> = {};
  const members = frames.map(({ type, description, schema: { $schema: ___, ...data } }) => {
    const name = type
      .split(/[._]/)
      .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
      .join('');
    schemas[`${name}Data`] = { ...data, description };
    schemas[`${name}Frame`] = {
      ...envelope,
      description,
      properties: { ...properties, type: { type: 'string', enum: [type] }, data: { $ref: `#/components/schemas/${name}Data` } },
    };
    return { $ref: `#/components/schemas/${name}Frame` };
  });
  for (const schema of Object.values(schemas)) open(schema);
  return { ...schemas, Frame: { oneOf: members, description: 'One frame of a run’s stream' } };
}

/** Names of the components that some reply may hold. */
function reachableFromReplies(document: Prepared['document']): Set<string> {
  const reached = new Set<string>();
  const follow = (from: unknown) =>
    walk(from, (node) => {
      const ref = node['$ref'];
      if (typeof ref !== 'string' || reached.has(ref)) return;
      reached.add(ref);
      follow(
        ref
          .slice(2)
          .split('/')
          .reduce<unknown>((at, key) => (at as Node)[key], document),
      ); // references are local and resolve
    });
  for (const methods of Object.values(document.paths)) for (const operation of Object.values(methods)) follow(operation['responses']);
  const prefix = '#/components/schemas/';
  return new Set([...reached].filter((ref) => ref.startsWith(prefix)).map((ref) => ref.slice(prefix.length)));
}

function open(schema: unknown): void {
  walk(schema, (node) => {
    if (node['additionalProperties'] === false) delete node['additionalProperties'];
  });
}

/** Visits every schema and operation; a map of properties is none, whatever its properties are called. */
function walk(at: unknown, visit: (node: Node) => void, isMap = false): void {
  if (typeof at !== 'object' || at === null) return;
  if (!Array.isArray(at) && !isMap) visit(at as Node); // an object of a JSON document
  for (const [key, child] of Object.entries(at)) walk(child, visit, key === 'properties' && !isMap);
}
