import type { SampleRequest, SampleText } from './request.ts';

/** The request as a command for a POSIX shell. */
export function curlSample({ method, url, headers, body, reply }: SampleRequest): string {
  const address = url.map(shellText).join('');
  const flags = reply === 'events' ? '-sSN' : '-sS';
  const lines = [
    `curl ${flags} --fail-with-body ${method === 'GET' ? '' : `-X ${method} `}"${address}"`,
    ...headers.map(([name, value]) => `-H "${name}: ${shellText(value)}"`),
    ...bodyLines(body),
    ...(reply === 'file' ? ['-o download'] : []),
  ];
  return lines.join(' \\\n  ');
}

function bodyLines(body: SampleRequest['body']): string[] {
  if (body === null) return [];
  if (body.kind === 'json') return [`-d ${quoted(JSON.stringify(body.value, null, 2))}`];
  if (body.kind === 'form') return body.fields.map(([name, value]) => `--data-urlencode ${quoted(`${name}=${value}`)}`);
  return [`-F file=@${body.file}`, ...body.fields.map(([name, value]) => `-F ${quoted(`${name}=${value}`)}`)];
}

/** A part within double quotes. */
function shellText({ text, variable, isUnique }: SampleText): string {
  const literal = text.replaceAll(/["$`\\]/g, '\\$&');
  if (isUnique) return `${literal}$(openssl rand -hex 16)`;
  return variable === undefined ? literal : `${literal}$${variable}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
