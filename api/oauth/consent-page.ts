import { readFileSync } from 'node:fs';
import type { ErrorEnvelopeView } from '../http/reply/error.schema.ts';
import { escapeHtml, guardHeaders, type WebPage } from '../http/openapi/web-page.ts';
import type { AuthorizationTransaction } from './authorize.schema.ts';

const script = part('consent.js');
const style = part('consent.css');
const [before = '', after = ''] = styled(part('consent.html'))
  .replace('<script></script>', () => `<script>${script}</script>`)
  .split(/(?<=id="transaction">)/);
const problem = styled(part('problem.html'));

const headers = guardHeaders({ style, script });
const problemHeaders = guardHeaders({ style, script: null });

/** What a user whom an application sent here can do; all other errors get a general text. */
const advice: Readonly<Record<string, string | undefined>> = {
  oauth_request_invalid:
    'The application that sent you here made a mistake, or is not known here. Nothing was granted. Go back to it and start again. If that does not help, contact its developers.',
  rate_limited: 'Too many requests came from your network. Wait a moment, then reload this page.',
  service_unavailable: 'The service cannot be reached at the moment. Wait a moment, then reload this page.',
};

/**
 * The built-in page of an authorization: sign-in with password and second factor, then consent. It is self-contained, keeps tokens in memory
 * only, and signs out when it is done.
 */
export function consentPage(transaction: AuthorizationTransaction): WebPage {
  // In a script element, only `<` could end it early, and JSON allows an escape for it.
  const json = JSON.stringify(transaction).replaceAll('<', '\\u003c');
  return { html: `${before}${json}${after}`, headers };
}

/** The page that a browser gets instead if the request fails: it reveals no more than the envelope, and has no links. */
export function problemPage(envelope: ErrorEnvelopeView): WebPage {
  const texts: Readonly<Record<string, string>> = {
    advice: advice[envelope.code] ?? 'Something went wrong. Go back to the application and start again.',
    detail: envelope.detail,
    code: envelope.code,
    correlation: envelope.correlation_id,
  };
  return { html: problem.replaceAll(/\{(\w+)\}/g, (_, name: string) => escapeHtml(texts[name] ?? '')), headers: problemHeaders };
}

function part(name: string): string {
  return readFileSync(new URL(`consent-page/${name}`, import.meta.url), 'utf8').trim();
}

function styled(html: string): string {
  return html.replace('<style></style>', () => `<style>${style}</style>`);
}
