import { createHash } from 'node:crypto';

/** A page for browsers, with the headers that guard it. */
export interface WebPage {
  readonly html: string;
  readonly headers: Readonly<Record<string, string>>;
}

export const pageType = 'text/html; charset=utf-8';

/** Whether a client wants pages: its Accept names HTML. */
export function takesPages(accept: string | undefined): boolean {
  return (accept ?? '').split(',').some((range) => /^\s*text\/html\s*(?:;(?!\s*q=0(?:\.0*)?\s*(?:;|$)).*)?$/i.test(range));
}

/** Only this exact style and script run; nothing is loaded, nothing can frame the page, no form is submitted. Without a script, the page makes no requests. */
export function guardHeaders({ style, script }: { readonly style: string; readonly script: string | null }): Record<string, string> {
  const policy = [
    `default-src 'none'`,
    ...(script === null ? [] : [`script-src ${hashOf(script)}`]),
    `style-src ${hashOf(style)}`,
    ...(script === null ? [] : [`connect-src 'self'`]),
    `base-uri 'none'`,
    `form-action 'none'`,
    `frame-ancestors 'none'`,
  ];
  return { 'content-security-policy': policy.join('; '), 'x-frame-options': 'DENY' };
}

/** Text as it stands in HTML, within an element or a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;').replaceAll("'", '&#39;');
}

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}
