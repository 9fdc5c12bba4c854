import type { Span } from '@opentelemetry/api';
import { wantsTraceContent } from '../../db/tenancy/organizations/settings.ts';
import { redactTokens } from '../../domain/code-review/pipeline/text-safety.ts';
import { secretNames } from '../../ports/config/secret-names.ts';
import type { ActivityDeps } from '../deps.ts';
import { readAsSystem } from './as-system.ts';
import { tenantOfActivity } from './tenant.ts';

/** Longest value of an attribute with content, in UTF-16 code units. */
export const maxContentChars = 16_384;

const secrets = new Set(secretNames);
/** Lengths to which texts are cut until the whole fits. */
const textLimits = [4_096, 1_024, 256];
/** Read beyond a cut, so that a token that lies across it keeps its shape. */
const overlap = 4_096;

/**
 * Adds texts of the tenant to a span, as JSON by attribute, if the deployment and, at this moment, its organization ask for that. It asks after the call, so
 * that what was switched off meanwhile does not leave. Never throws: a call counts without it.
 */
export async function addContent(
  deps: Pick<ActivityDeps, 'db' | 'env' | 'log'>,
  span: Span,
  content: () => Readonly<Record<string, unknown>>,
): Promise<void> {
  if (!deps.env.tracesContent || !span.isRecording()) return;
  try {
    const { organizationId } = tenantOfActivity();
    if (!(await readAsSystem(deps, (tx) => wantsTraceContent(tx, organizationId)))) return;
    for (const [name, value] of Object.entries(content())) span.setAttribute(name, contentText(value));
  } catch (err) {
    deps.log.warn({ err }, 'texts of a span left out');
  }
}

/** Returns a value as JSON of at most `maxContentChars`, without secrets: longer texts are cut, and of a list that is too long even so, the last entries stay. */
export function contentText(value: unknown): string {
  let text = '';
  for (const limit of textLimits) {
    text = JSON.stringify(value, (name, member: unknown) => shown(name, member, limit)) ?? 'null';
    if (text.length <= maxContentChars) return text;
  }
  if (Array.isArray(value) && value.length > 1) return contentText(value.slice(Math.ceil(value.length / 2)));
  return JSON.stringify(cut(text, maxContentChars / 2 - 100));
}

function shown(name: string, member: unknown, limit: number): unknown {
  if (member !== null && secrets.has(name.toLowerCase())) return '[redacted]';
  return typeof member === 'string' ? cut(redactTokens(member.slice(0, limit + overlap)), limit, member.length) : member;
}

function cut(text: string, limit: number, length = text.length): string {
  return text.length <= limit && length <= limit + overlap ? text : `${text.slice(0, limit).toWellFormed()}… [${length} characters]`;
}
