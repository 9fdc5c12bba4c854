import type { Operation, Parameter } from '../operations.ts';
import type { Node, Prepared } from '../prepare.ts';

const header = '"""Made from the served document by clients/generate/python; do not edit."""\n\nfrom __future__ import annotations\n';

/** A class for each error code. */
export function errorsSource({ document, codes }: Prepared): string {
  const classes = codes.map((code) => `class ${errorClassOf(code)}(ApiError):\n    """A reply with the code \`${code}\`."""\n`);
  const rows = codes.map((code) => `    "${code}": ${errorClassOf(code)},\n`);
  const names = codes.map((code) => `    "${errorClassOf(code)}",\n`);
  if (!('ErrorEnvelope' in document.components.schemas)) throw new Error('the document has no ErrorEnvelope');
  return [
    `${header}\nfrom .._errors import ApiError\n`,
    ...classes,
    `ERRORS_BY_CODE: dict[str, type[ApiError]] = {\n${rows.join('')}}\n`,
    `__all__ = [\n    "ERRORS_BY_CODE",\n${names.join('')}]\n`,
  ].join('\n\n');
}

function errorClassOf(code: string): string {
  const name = pascal(code);
  return name.endsWith('Error') ? name : `${name}Error`;
}

/** The table of operations, and a class for each client with a method for each operation. */
export function operationsSource(prepared: Prepared, operations: readonly Operation[]): string {
  const calls = operations.map((operation) => callOf(prepared, operation));
  return [
    `${header}
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from .._base import AsyncCalls, BlockingCalls, CallOptions, KeyedCallOptions
from .._call import Operation
from .._content import AsyncContent, Content
from .._pages import AsyncPages, Pages
from .._stream import AsyncRunStream, RunStream
from .._upload import FileSource

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from . import types as t
`,
    calls.map(({ row }) => row).join('\n'),
    `class Operations(BlockingCalls):\n    """Every operation of the contract, blocking."""\n\n${calls.map((call) => methodOf(call, false)).join('\n')}`,
    `class AsyncOperations(AsyncCalls):\n    """Every operation of the contract, for asyncio."""\n\n${calls.map((call) => methodOf(call, true)).join('\n')}`,
  ].join('\n\n');
}

interface Call {
  readonly name: string;
  readonly row: string;
  readonly summary: string;
  readonly positional: readonly string[];
  readonly named: readonly string[];
  /** Arguments of the base class's method, after the operation. */
  readonly handedOn: string;
  /** How the base class makes the call, and what comes of it: `{A}` stands for `Async` in the other client. */
  readonly way: 'json' | 'empty' | 'text' | 'content' | 'pages' | 'stream';
  readonly result: string;
  readonly takesKey: boolean;
}

/** Replies that are no JSON of their own, whatever the document lists first: they may be a page, a redirect, a stream. */
const rawReplies = new Set(['receiveHook', 'receiveHookByGet', 'receiveChannelMessage', 'callMcp', 'startAuthorization']);
const commonHeaders = new Set(['Idempotency-Key', 'X-Acting-User', 'X-View-Organization', 'X-View-Workspace', 'last-event-id']);

function callOf(prepared: Prepared, operation: Operation): Call {
  const raw = prepared.document.paths[operation.path]?.[operation.method.toLowerCase()] ?? {};
  const isIngress = raw['x-access'] === 'ingress';
  const takesBearer = raw['x-access'] === 'registration-token';
  const headers = headersOf(prepared, raw);
  const path = operation.parameters.filter((parameter) => parameter.in === 'path');
  const query = operation.parameters.filter((parameter) => parameter.in === 'query');
  const { way, result } = replyOf(prepared, operation);
  const constant = `_${snake(operation.id).toUpperCase()}`;
  const body = isIngress ? null : bodyOf(operation);
  const queries = query.map(({ name }) => `"${name}": ${argument(name)}`);
  const sent = headers.map((name) => `"${headerName(name)}": ${headerArgument(name)}`);
  const handedOn = [
    constant,
    `{${path.map(({ name }) => `"${name}": ${argument(name)}`).join(', ')}}`,
    'options',
    ...(queries.length > 0 ? [`query={${queries.join(', ')}}`] : []),
    ...(sent.length > 0 ? [`headers={${sent.join(', ')}}`] : []),
    ...(body === null ? [] : [body.handedOn]),
    ...(isIngress ? [`query=query`, `headers=headers`, ...(operation.method === 'POST' ? ['content=content'] : [])] : []),
    ...(takesBearer ? ['bearer=registration_token'] : []),
  ];
  return {
    name: snake(operation.id),
    row: rowOf(constant, operation, raw, way === 'json' ? result : 'Any'),
    summary: `${operation.summary} (\`${operation.method} ${operation.path}\`).`,
    positional: [
      ...path.map(({ name }) => `${argument(name)}: str`),
      ...(body?.positional ?? []),
      ...(isIngress && operation.method === 'POST' ? ['content: bytes'] : []),
      ...(takesBearer ? ['registration_token: str'] : []),
    ],
    named: [
      ...(body?.named ?? []),
      ...query.map(queryArgument),
      ...headers.map((name) => `${headerArgument(name)}: str${isRequired(operation, name) ? '' : ' | None = None'}`),
      ...(isIngress ? ['headers: Mapping[str, str] | None = None', 'query: Mapping[str, Any] | None = None'] : []),
    ],
    handedOn: handedOn.join(', '),
    way,
    result,
    takesKey: operation.takesKey,
  };
}

function rowOf(constant: string, operation: Operation, raw: Node, type: string): string {
  const flags = [
    operation.takesKey ? ', has_key=True' : '',
    (raw['x-credentials'] as readonly string[]).length === 0 ? ', has_credential=False' : '', // pinned by the document's gates
    operation.body === 'form' ? ', is_form=True' : '',
  ];
  return `${constant}: Operation[${type}] = Operation("${operation.id}", "${operation.method}", "${operation.path}"${flags.join('')})`;
}

function replyOf({ document }: Prepared, operation: Operation): Pick<Call, 'way' | 'result'> {
  if (operation.isStream) return { way: 'stream', result: '{A}RunStream' };
  if (operation.reply === 'raw' || rawReplies.has(operation.id)) return { way: 'content', result: '{A}Content' };
  if (operation.reply === 'text') return { way: 'text', result: 'str' };
  if (operation.reply === 'empty') return { way: 'empty', result: 'None' };
  const type = operation.replySchema === null ? 'dict[str, Any]' : typeName(operation.replySchema);
  if (operation.reply !== 'page') return { way: 'json', result: type };
  const page = document.components.schemas[operation.replySchema ?? ''] as { properties: { items: { items: { $ref: string } } } }; // pages are alike
  return { way: 'pages', result: `{A}Pages[${typeName(page.properties.items.items.$ref.split('/').at(-1) ?? '')}, ${type}]` };
}

function bodyOf({ id, body, bodySchema, isBodyRequired }: Operation) {
  if (body === 'none') return null;
  if (body === 'upload')
    return {
      positional: ['file: FileSource'],
      named: ['filename: str | None = None', 'workspace_id: str | None = None', 'purpose: str | None = None'],
      handedOn: 'file=(file, filename, {"workspace_id": workspace_id, "purpose": purpose})',
    };
  const type = bodySchema === null ? 'Any' : typeName(bodySchema);
  // Fields that the schema can't demand (one of two) make a body optional; a run without an agent and an input is none.
  const isDemanded = isBodyRequired || id === 'createRun';
  return { positional: [isDemanded ? `body: ${type}` : `body: ${type} | None = None`], named: [], handedOn: 'body=body' };
}

function headersOf({ document }: Prepared, raw: Node): string[] {
  const components = (document.components as unknown as { parameters: Record<string, Parameter> }).parameters; // of an OpenAPI document
  return ((raw['parameters'] ?? []) as (Parameter & { $ref?: string })[])
    .map((parameter) => (parameter.$ref ? components[parameter.$ref.split('/').at(-1) ?? ''] : parameter))
    .filter((parameter): parameter is Parameter => parameter?.in === 'header')
    .map(({ name }) => name)
    .filter((name) => !commonHeaders.has(name));
}

function isRequired(operation: Operation, name: string): boolean {
  return name === 'If-Match' && operation.ifMatch === 'required';
}

function headerName(name: string): string {
  return name
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('-');
}

function headerArgument(name: string): string {
  return name.toLowerCase().replaceAll('-', '_');
}

function queryArgument({ name, required, schema }: Parameter): string {
  return `${argument(name)}: ${queryType(schema)}${required ? '' : ' | None = None'}`;
}

function queryType(schema: Node): string {
  const values = schema['enum'] as readonly string[] | undefined; // a JSON Schema
  if (values) return `Literal[${values.map((value) => JSON.stringify(value)).join(', ')}]`;
  if (schema['type'] === 'array') return `Sequence[${queryType(schema['items'] as Node)}]`; // a JSON Schema
  return { integer: 'int', boolean: 'bool', number: 'float' }[String(schema['type'])] ?? 'str';
}

function methodOf({ name, summary, positional, named, handedOn, way, result, takesKey }: Call, isAsync: boolean): string {
  const all = [
    'self',
    ...positional,
    ...(named.length > 0 ? ['*', ...named] : []),
    `**options: Unpack[${takesKey ? 'KeyedCallOptions' : 'CallOptions'}]`,
  ];
  const prefix = isAsync ? 'Async' : '';
  // What is iterated is made at once, and asks the server when it is used.
  const waits = isAsync && way !== 'pages' && way !== 'stream';
  const call = `${waits ? 'await ' : ''}self._${way}(${handedOn})`;
  return [
    `    ${waits ? 'async ' : ''}def ${name}(\n        ${all.join(',\n        ')},\n    ) -> ${result.replaceAll('{A}', prefix)}:`,
    `        """${summary}"""`,
    `        ${way === 'empty' ? call : `return ${call}`}\n`,
  ].join('\n');
}

/** A name as an argument: `from` is a word of the language. */
function argument(name: string): string {
  return name === 'from' ? 'from_' : name;
}

/** As the generator of types names a component. */
function typeName(component: string): string {
  return `t.${component.replaceAll('_', '')}`;
}

function snake(id: string): string {
  return id.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function pascal(code: string): string {
  return code
    .split('_')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}
