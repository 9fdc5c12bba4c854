import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { AuthorizationTransaction } from './authorize.schema.ts';

export interface ConsentPage {
  readonly html: string;
  readonly headers: Readonly<Record<string, string>>;
}

const script = part('consent.js');
const style = part('consent.css');
const [before = '', after = ''] = part('consent.html')
  .replace('<style></style>', () => `<style>${style}</style>`)
  .replace('<script></script>', () => `<script>${script}</script>`)
  .split(/(?<=id="transaction">)/);

// Only this very script and style run; nothing is loaded, nothing frames the page, no form leaves it.
const headers = {
  'content-security-policy': [
    `default-src 'none'`,
    `script-src ${hashOf(script)}`,
    `style-src ${hashOf(style)}`,
    `connect-src 'self'`,
    `base-uri 'none'`,
    `form-action 'none'`,
    `frame-ancestors 'none'`,
  ].join('; '),
  'x-frame-options': 'DENY',
} as const;

/**
 * The built-in page of an authorization: sign-in with password and second factor, then consent. It is self-contained, keeps tokens in memory
 * only, and signs out when it is done.
 */
export function consentPage(transaction: AuthorizationTransaction): ConsentPage {
  // Within a script element only `<` can end it early, and JSON may spell it otherwise.
  const json = JSON.stringify(transaction).replaceAll('<', '\\u003c');
  return { html: `${before}${json}${after}`, headers };
}

function part(name: string): string {
  return readFileSync(new URL(`consent-page/${name}`, import.meta.url), 'utf8').trim();
}

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}
