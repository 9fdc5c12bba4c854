import type { SampleRequest, SampleText } from './request.ts';

/** The request with `fetch`, for Node, Deno and Bun alike. */
export function typescriptSample({ method, url, headers, body, reply }: SampleRequest): string {
  const options = [
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    ...(headers.length === 0
      ? []
      : ['  headers: {', ...headers.map(([name, value]) => `    ${keyText(name)}: ${valueText([value])},`), '  },']),
    ...(body === null ? [] : [`  body: ${bodyText(body)},`]),
  ];
  const call = options.length === 0 ? `await fetch(${valueText(url)});` : `await fetch(${valueText(url)}, {\n${options.join('\n')}\n});`;
  return [
    ...(body?.kind === 'multipart' || reply === 'file' ? [`import { ${fileCalls(body, reply)} } from 'node:fs/promises';\n`] : []),
    ...(body?.kind === 'multipart' ? formLines(body) : []),
    `const response = ${call}`,
    'if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);',
    ...replyLines(reply),
  ].join('\n');
}

function fileCalls(body: SampleRequest['body'], reply: SampleRequest['reply']): string {
  return [...(body?.kind === 'multipart' ? ['readFile'] : []), ...(reply === 'file' ? ['writeFile'] : [])].join(', ');
}

function formLines({ file, fields }: Extract<NonNullable<SampleRequest['body']>, { kind: 'multipart' }>): string[] {
  return [
    'const form = new FormData();',
    `form.set('file', new Blob([await readFile('${file}')]), '${file}');`,
    ...fields.map(([name, value]) => `form.set('${name}', ${literal(value, 0)});`),
  ];
}

function bodyText(body: NonNullable<SampleRequest['body']>): string {
  if (body.kind === 'multipart') return 'form';
  if (body.kind === 'form') return `new URLSearchParams(${literal(Object.fromEntries(body.fields), 2)})`;
  return `JSON.stringify(${literal(body.value, 2)})`;
}

function replyLines(reply: SampleRequest['reply']): string[] {
  if (reply === 'none') return ['console.log(response.status);'];
  if (reply === 'text') return ['console.log(await response.text());'];
  if (reply === 'file') return ["await writeFile('download', Buffer.from(await response.arrayBuffer()));"];
  if (reply === 'json') return ['console.log(await response.json());'];
  return [
    'const events = response.body?.pipeThrough(new TextDecoderStream());',
    'if (events) for await (const text of events) process.stdout.write(text);',
  ];
}

function valueText(texts: readonly SampleText[]): string {
  const [only, ...others] = texts;
  if (only?.isUnique) return 'crypto.randomUUID()';
  if (only && others.length === 0 && only.variable === undefined) return literal(only.text, 0);
  const parts = texts.map(
    ({ text, variable }) => `${text.replaceAll(/[`$\\]/g, '\\$&')}${variable === undefined ? '' : `\${process.env['${variable}']}`}`,
  );
  return `\`${parts.join('')}\``;
}

function keyText(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name, 0);
}

/** A JSON value as it is written in code, its lines moved in by `indent`. */
function literal(value: unknown, indent: number): string {
  if (typeof value === 'string')
    return `'${JSON.stringify(value)
      .slice(1, -1)
      .replaceAll(String.raw`\"`, '"')
      .replaceAll("'", String.raw`\'`)}'`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const inner = indent + 2;
  const isList = Array.isArray(value);
  const items = isList
    ? value.map((item: unknown) => literal(item, inner))
    : Object.entries(value).map(([key, child]) => `${keyText(key)}: ${literal(child, inner)}`);
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  if (items.length === 0) return `${open}${close}`;
  return `${open}\n${items.map((item) => `${' '.repeat(inner)}${item},`).join('\n')}\n${' '.repeat(indent)}${close}`;
}
