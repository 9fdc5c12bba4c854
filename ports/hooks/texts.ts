import { renderTexts, type TriggerTexts } from '../schedule/texts.ts';
import type { Templates, TemplateVariables } from '../templates/templates.ts';

/** A request to a hook, or one that a test describes. */
export interface HookRequest {
  readonly method: 'POST' | 'GET';
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly query: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** What the templates of an endpoint see of a request, its body parsed. */
export interface SeenRequest {
  readonly request: Omit<HookRequest, 'body'>;
  readonly body: unknown;
  readonly now: Date;
  /** Each delivery of a group whose data all count; otherwise absent. */
  readonly items?: readonly HookItem[];
}

/** One delivery of a group, as templates see it. */
export interface HookItem {
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly method: string;
  readonly occurred_at: string;
}

/** An endpoint with its templates. */
export interface TemplatesOfHook {
  readonly id: string;
  readonly slug: string;
  readonly promptTemplate: string;
  readonly inputTemplate: Record<string, unknown> | null;
  readonly sessionKeyTemplate: string | null;
  readonly personaSlugTemplate: string | null;
  readonly subjectTemplate: { readonly kind: 'user' | 'guest'; readonly id: string } | null;
}

/** A path in a template that has no value. */
export interface HookWarning {
  readonly code: string;
  readonly field: string;
  readonly message: string;
}

/** Headers that templates and deliveries show. No credential, cookie or signature is among them. */
const shownHeaders = [
  'content-type',
  'user-agent',
  'x-request-id',
  'x-correlation-id',
  'webhook-id',
  'webhook-timestamp',
  'svix-id',
  'svix-timestamp',
  'x-slack-request-timestamp',
  'x-slack-retry-num',
  'x-slack-retry-reason',
  'x-github-event',
  'x-github-delivery',
  'x-github-hook-id',
  'x-gitlab-event',
  'x-gitlab-event-uuid',
  'x-event-key',
  'x-hook-uuid',
  'x-shopify-topic',
  'x-shopify-shop-domain',
  'x-event-type',
] as const;
const maxShownChars = 1_000;
const maxNameChars = 200;
const maxQuery = 100;
const maxWarnings = 20;

/** Returns the headers that templates and deliveries may show. */
export function shownHeadersOf({ headers }: Pick<HookRequest, 'headers'>): Record<string, string> {
  return Object.fromEntries(
    shownHeaders.flatMap((name) => {
      const value = headers[name];
      return value === undefined ? [] : [[name, wellFormed(value).slice(0, maxShownChars)]];
    }),
  );
}

/** Returns the parameters of a query without the token. */
export function shownQueryOf({ query }: Pick<HookRequest, 'query'>): Record<string, string> {
  const shown = Object.entries(query).filter(([name]) => name !== 'token' && name !== '__proto__');
  return Object.fromEntries(shown.slice(0, maxQuery).map(([name, value]) => [wellFormed(name).slice(0, maxNameChars), wellFormed(value)]));
}

/**
 * Fills the templates of an endpoint for a request, and warns of each path that has no value.
 * @throws TemplateError
 */
export async function fillHook(
  templates: Templates,
  hook: TemplatesOfHook,
  seen: SeenRequest,
): Promise<{ readonly texts: TriggerTexts; readonly warnings: readonly HookWarning[] }> {
  const warnings: HookWarning[] = [];
  const texts = {
    prompt: hook.promptTemplate,
    input: hook.inputTemplate,
    sessionKey: hook.sessionKeyTemplate,
    personaSlug: hook.personaSlugTemplate,
    subject: hook.subjectTemplate,
  };
  const filled = await renderTexts(templates, texts, {
    prefix: `hook:${hook.id}`,
    variables: variablesOf(hook, seen),
    onMissing: (field, path) => {
      if (warnings.length < maxWarnings) warnings.push(missing(fieldNames[field], path));
    },
  });
  return { texts: { ...filled, prompt: wellFormed(filled.prompt) }, warnings };
}

/**
 * Returns the key by which a request is coalesced with others: the text of a template, trimmed; empty without one.
 * @throws TemplateError
 */
export async function fillKey(
  templates: Templates,
  { template, hook }: { readonly template: string | null; readonly hook: Pick<TemplatesOfHook, 'id' | 'slug'> },
  seen: SeenRequest,
): Promise<{ readonly key: string; readonly warnings: readonly HookWarning[] }> {
  if (template === null || !template.includes('{')) return { key: template?.trim() ?? '', warnings: [] };
  const rendered = await templates.render(template, variablesOf(hook, seen));
  return { key: wellFormed(rendered.text).trim(), warnings: rendered.missing.map((path) => missing('coalescing.key_template', path)) };
}

function variablesOf({ id, slug }: Pick<TemplatesOfHook, 'id' | 'slug'>, { request, body, now, items }: SeenRequest): TemplateVariables {
  return {
    body,
    headers: shownHeadersOf(request),
    query: shownQueryOf(request),
    method: request.method,
    endpoint: { id, slug },
    now: now.toISOString(),
    ...(items === undefined ? {} : { items }),
  };
}

const fieldNames = {
  prompt: 'prompt_template',
  input: 'input_template',
  sessionKey: 'session_key_template',
  personaSlug: 'persona_slug_template',
  subject: 'subject_template',
} as const;

function missing(field: string, path: string): HookWarning {
  return { code: 'missing_value', field, message: `${path.slice(0, maxNameChars)} has no value, and was left empty.` };
}

/** Returns a text that PostgreSQL and UTF-8 can represent. */
export function wellFormed(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '\uFFFD');
}
