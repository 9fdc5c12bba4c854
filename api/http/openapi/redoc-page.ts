import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { OpenApiDocument } from './openapi.ts';

export interface RedocPage {
  readonly html: string;
  /** Names each script by hash: nothing else on the page may run, and nothing is fetched. */
  readonly contentSecurityPolicy: string;
}

/** One self-contained page: the bundle of the installed package and the public document, both inline. */
export function redocPage(document: OpenApiDocument): RedocPage {
  const bundle = inlineScript(readFileSync(createRequire(import.meta.url).resolve('redoc/bundles/redoc.standalone.js'), 'utf8'));
  // Within a script element only `<` can end it early, and JSON may spell it otherwise.
  const json = JSON.stringify(document).replaceAll('<', '\\u003c').replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
  const start = `Redoc.init(${json}, { hideDownloadButton: true }, document.getElementById('redoc'));`;

  const html = [
    '<!doctype html>',
    '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
    '<title>Longhaul API</title><style>body{margin:0}</style></head>',
    `<body><div id="redoc"></div><script>${bundle}</script><script>${start}</script></body></html>`,
  ].join('\n');
  return { html, contentSecurityPolicy: policyFor([bundle, start]) };
}

/** A script text that can stand inline: no end tag, no comment that opens a second escape. */
function inlineScript(text: string): string {
  return text.replaceAll(/<\/(script)/gi, '<\\/$1').replaceAll('<!--', '<\\!--');
}

function policyFor(scripts: readonly string[]): string {
  const hashes = scripts.map((script) => `'sha256-${createHash('sha256').update(script).digest('base64')}'`);
  return [
    `default-src 'none'`,
    `script-src ${hashes.join(' ')}`,
    `style-src 'unsafe-inline'`,
    'img-src data:',
    'worker-src blob:',
    `base-uri 'none'`,
    `form-action 'none'`,
    `frame-ancestors 'none'`,
  ].join('; ');
}
