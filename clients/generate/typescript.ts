import type { Operation, Parameter } from './operations.ts';
import type { Node, Prepared } from './prepare.ts';

const notice = '// Made from the served document by clients/generate. Do not edit.\n';

/** The table that the client works from: for each operation its method, its path and letters that `operation.ts` of the client explains. */
export function tableSource({ version }: Prepared, operations: readonly Operation[]): string {
  const rows = operations.map((operation) => `  ${operation.id}: '${rowOf(operation)}',`);
  return `${notice}
/** Version of the contract that this client speaks. */
export const contractVersion = '${version}';

/** Method, path and letters of each operation. */
export const table = {
${rows.join('\n')}
} as const;
`;
}

function rowOf(operation: Operation): string {
  const replies = { json: '', page: 'p', raw: 'r', text: 't', empty: 'e' };
  const bodies = { none: '', fields: 'j', whole: 'b', form: 'f', upload: 'u' };
  const letters = [
    bodies[operation.body],
    operation.isStream ? 's' : replies[operation.reply],
    operation.takesKey ? 'k' : '',
    operation.ifMatch ? 'm' : '',
    operation.isAnonymous ? 'a' : '',
  ].join('');
  const query = operation.parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
  // Without fields of a body beside it, whatever the path doesn't take belongs in the query.
  const named = operation.body === 'fields' && query.length > 0 ? `?${query.join(',')}` : '';
  return [operation.method, operation.path, letters + named].join(' ').trimEnd();
}

const imports = [
  ['CallOptions, Pages, WithIfMatch', '../options.ts'],
  ['RunStream, StreamOptions', '../run-stream.ts'],
  ['Upload', '../upload.ts'],
  ['components', './types.ts'],
] as const;

/** The type of every call: its arguments, and what it gives. */
export function callsSource(operations: readonly Operation[]): string {
  return `${notice}
${imports.map(([names, path]) => `import type { ${names} } from '${path}';`).join('\n')}

type Schemas = components['schemas'];

/** One call per operation of the contract, named by its id. */
export interface Calls {
${operations.map(callOf).join('\n')}
}
`;
}

function callOf(operation: Operation): string {
  const { id, method, path, summary, isDeprecated } = operation;
  const { type, isRequired } = argumentsOf(operation);
  const options = operation.isStream
    ? 'options?: StreamOptions'
    : operation.ifMatch === 'required'
      ? 'options: WithIfMatch'
      : 'options?: CallOptions';
  const mark = isRequired || operation.ifMatch === 'required' ? '' : '?';
  return `  /** ${summary}: \`${method} ${path}\`${isDeprecated ? '\n   * @deprecated' : ''} */
  ${id}(args${mark}: ${type}, ${options}): ${givenBy(operation)};`;
}

function argumentsOf(operation: Operation): { readonly type: string; readonly isRequired: boolean } {
  const fields = operation.parameters.map(fieldOf);
  if (operation.body === 'whole') fields.push(`body: ${operation.bodySchema === null ? 'unknown' : schemaType(operation.bodySchema)}`);
  const parts: string[] = [];
  if (operation.body === 'upload') parts.push(`Omit<${schemaType(operation.bodySchema)}, 'file'> & { file: Upload; filename?: string }`);
  if (operation.body === 'fields' || operation.body === 'form') parts.push(schemaType(operation.bodySchema));
  if (fields.length > 0) parts.unshift(`{ ${fields.join('; ')} }`);
  const isRequired = operation.isBodyRequired || operation.parameters.some(({ required }) => required);
  return { type: parts.length === 0 ? 'Record<string, never>' : parts.join(' & '), isRequired };
}

function fieldOf({ name, required, schema }: Parameter): string {
  return `${name}${required ? '' : '?'}: ${typeOf(schema)}`;
}

function givenBy({ isStream, reply, replySchema }: Operation): string {
  if (isStream) return 'RunStream';
  const type = schemaType(replySchema);
  switch (reply) {
    case 'page':
      return `Pages<${type}>`;
    case 'json':
      return `Promise<${type}>`;
    case 'text':
      return 'Promise<string>';
    case 'empty':
      return 'Promise<void>';
    case 'raw':
      return 'Promise<Response>';
    default:
      throw reply satisfies never;
  }
}

function schemaType(name: string | null): string {
  return name === null ? 'unknown' : `Schemas['${name}']`;
}

/** The type of a parameter: a scalar, or a list of them. */
function typeOf(schema: Node): string {
  if (Array.isArray(schema['enum'])) return schema['enum'].map((value) => `'${String(value)}'`).join(' | ');
  if (schema['type'] === 'array') return `readonly (${typeOf(schema['items'] as Node)})[]`; // a schema, as the document's gates hold
  if (schema['type'] === 'integer') return 'number';
  if (schema['type'] === 'string' || schema['type'] === 'boolean') return schema['type'];
  throw new Error(`a parameter of type ${String(schema['type'])} is new`);
}
