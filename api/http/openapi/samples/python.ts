import type { SampleRequest, SampleText } from './request.ts';

/** The request with httpx, which reads event streams and multipart forms as they come. */
export function pythonSample(request: SampleRequest): string {
  const { headers, body, reply } = request;
  const isUnique = headers.some(([, value]) => value.isUnique);
  const usesEnvironment = [...request.url, ...headers.map(([, value]) => value)].some(({ variable }) => variable !== undefined);
  const named = [
    ...(headers.length === 0
      ? []
      : [`headers={\n${headers.map(([name, value]) => `        ${literal(name, 0)}: ${valueText([value])},\n`).join('')}    }`]),
    ...(body === null ? [] : bodyArguments(body)),
    `timeout=${reply === 'events' ? 'None' : '70'}`,
  ];
  const call = (name: string) =>
    `${name}(\n    "${request.method}",\n    ${valueText(request.url)},\n${named.map((each) => `    ${each},\n`).join('')})`;
  const imports = [...(usesEnvironment ? ['import os'] : []), ...(isUnique ? ['import uuid'] : [])];

  return [
    ...(imports.length === 0 ? [] : [...imports, '']),
    'import httpx',
    '',
    ...(reply === 'events'
      ? [
          `with ${call('httpx.stream')} as response:`,
          '    response.raise_for_status()',
          '    for line in response.iter_lines():',
          '        print(line)',
        ]
      : [`response = ${call('httpx.request')}`, 'response.raise_for_status()', replyLine(reply)]),
  ].join('\n');
}

function bodyArguments(body: NonNullable<SampleRequest['body']>): string[] {
  if (body.kind === 'json') return [`json=${literal(body.value, 4)}`];
  const fields = `data=${literal(Object.fromEntries(body.fields), 4)}`;
  return body.kind === 'form' ? [fields] : [`files={"file": open(${literal(body.file, 0)}, "rb")}`, fields];
}

function replyLine(reply: SampleRequest['reply']): string {
  if (reply === 'none') return 'print(response.status_code)';
  if (reply === 'text') return 'print(response.text)';
  return reply === 'file' ? 'open("download", "wb").write(response.content)' : 'print(response.json())';
}

function valueText(texts: readonly SampleText[]): string {
  if (texts[0]?.isUnique) return 'str(uuid.uuid4())';
  if (texts.every(({ variable }) => variable === undefined)) return literal(texts.map(({ text }) => text).join(''), 0);
  const parts = texts.map(({ text, variable }) => {
    const bare = JSON.stringify(text).slice(1, -1).replaceAll('{', '{{').replaceAll('}', '}}');
    return `${bare}${variable === undefined ? '' : `{os.environ['${variable}']}`}`;
  });
  return `f"${parts.join('')}"`;
}

/** A JSON value as Python writes it, its lines moved in by `indent`. Texts of JSON are texts of Python. */
function literal(value: unknown, indent: number): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value !== 'object') return JSON.stringify(value);
  const inner = indent + 4;
  const isList = Array.isArray(value);
  const items = isList
    ? value.map((item: unknown) => literal(item, inner))
    : Object.entries(value).map(([key, child]) => `${JSON.stringify(key)}: ${literal(child, inner)}`);
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  if (items.length === 0) return `${open}${close}`;
  return `${open}\n${items.map((item) => `${' '.repeat(inner)}${item},`).join('\n')}\n${' '.repeat(indent)}${close}`;
}
