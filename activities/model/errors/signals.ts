import { ModelError } from './model-error.ts';
import { classOfStatus, classOfReported, isRetryableStatus } from './error-class.ts';
import { redact, type Redaction } from '../wire/redact.ts';
import type { TokenUsage } from '../usage/usage.ts';

/** What went wrong, without anything of the request: the SDK's errors carry the prompt. */
export type ProviderError =
  /** An answer with an error status. */
  | {
      readonly kind: 'http';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly requestId: string | null;
      readonly code: string | null;
      readonly message: string;
    }
  /** An error reported inside a stream. */
  | { readonly kind: 'told'; readonly status: number | null; readonly code: string | null; readonly message: string }
  /** Bytes that are no answer, or an answer without its end. */
  | { readonly kind: 'garbled'; readonly message: string }
  | { readonly kind: 'network'; readonly code: string | null }
  /** The adapter itself refused to build the request. */
  | { readonly kind: 'refused_request' };

export interface ErrorContext extends Redaction {
  /** Whether something readable had arrived before. */
  readonly hasBegun: boolean;
  readonly requestId: string | null;
  readonly usage: TokenUsage | null;
}

/** The table of signals: which class an error has, whether it is worth another try, and when. */
export function toModelError(error: ProviderError, context: ErrorContext): ModelError {
  const common = { providerRequestId: context.requestId, usage: context.usage };

  switch (error.kind) {
    case 'http': {
      const errorClass = classOfStatus(error.status, error);
      return new ModelError(errorClass, {
        ...common,
        message: withDetails(`the model provider answered ${error.status}`, error, context),
        retryable: shouldRetry(error.headers) ?? (errorClass !== 'ContextTooLong' && isRetryableStatus(error.status)),
        retryAfterMs: retryAfterMs(error.headers),
        status: error.status,
        providerCode: error.code,
        providerRequestId: error.requestId ?? context.requestId,
      });
    }
    case 'told': {
      const errorClass = classOfReported(error);
      return new ModelError(errorClass, {
        ...common,
        message: withDetails('the model provider answered with an error', error, context),
        status: error.status,
        providerCode: error.code,
      });
    }
    case 'garbled':
      if (!context.hasBegun)
        return new ModelError('Unreachable', {
          ...common,
          message: withDetails('the model provider sent an unreadable answer', { code: null, message: error.message }, context),
        });
      return new ModelError('StreamCut', {
        ...common,
        message: withDetails(
          'the answer of the model ended before its end, or became unreadable',
          { code: null, message: error.message },
          context,
        ),
      });
    case 'network': {
      const code = error.code === null ? '' : ` (${error.code})`;
      if (context.hasBegun)
        return new ModelError('StreamCut', {
          ...common,
          message: `the connection to the model provider broke${code}`,
          providerCode: error.code,
        });
      return new ModelError('Unreachable', { ...common, message: `the model provider can't be reached${code}`, providerCode: error.code });
    }
    case 'refused_request':
      return new ModelError('Rejected', { ...common, message: 'the settings or content of this call are not possible with this model' });
    default:
      return error satisfies never;
  }
}

function withDetails(what: string, error: { readonly code: string | null; readonly message: string }, context: ErrorContext): string {
  const code = error.code === null ? '' : ` (${error.code.slice(0, 80)})`;

  return redact(error.message === '' ? `${what}${code}` : `${what}${code}: ${error.message}`, context);
}

/** `x-should-retry` outranks the status. */
function shouldRetry(headers: Readonly<Record<string, string>>): boolean | null {
  const value = headers['x-should-retry'];
  if (value === 'true') return true;

  return value === 'false' ? false : null;
}

/** `retry-after-ms`, else `Retry-After` in seconds or as a date (RFC 9110 §10.2.3), else the provider's own headers; null when none is usable. */
function retryAfterMs(headers: Readonly<Record<string, string>>): number | null {
  const ms = Number.parseFloat(headers['retry-after-ms'] ?? '');
  if (Number.isFinite(ms)) return bounded(ms);

  const value = headers['retry-after'];
  if (value !== undefined && /^\d+(\.\d+)?$/.test(value.trim())) return bounded(Number(value) * 1_000);
  const found = msUntil(value) ?? usedUpMs(headers);
  return found === null ? null : bounded(found);
}

/**
 * Returns the time until the last used-up quota of the provider's own headers is reset: a duration at OpenAI (open-webui/open-webui#3743), a date at Anthropic
 * (anthropics/anthropic-sdk-typescript#357, whoz-oss/coday#110). A quota of which something remains has not refused the call.
 */
function usedUpMs(headers: Readonly<Record<string, string>>): number | null {
  const resets = quotas.flatMap(([remaining, reset]) => {
    if (headers[remaining]?.trim() !== '0') return [];
    const ms = durationMs(headers[reset]) ?? msUntil(headers[reset]);
    return ms === null ? [] : [ms];
  });
  return resets.length === 0 ? null : Math.max(...resets);
}

const quotas = [
  ...['requests', 'tokens'].map((kind) => [`x-ratelimit-remaining-${kind}`, `x-ratelimit-reset-${kind}`] as const),
  ...['requests', 'tokens', 'input-tokens', 'output-tokens'].map(
    (kind) => [`anthropic-ratelimit-${kind}-remaining`, `anthropic-ratelimit-${kind}-reset`] as const,
  ),
];

const unitMs = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000, ms: 1 } as const;

/** Reads `1s`, `6m0s`, `120ms`, and a number of seconds (Azure: openai/openai-dotnet#838). */
function durationMs(value = ''): number | null {
  const text = value.trim();
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text) * 1_000;
  if (!/^(?:\d+(?:\.\d+)?(?:d|h|ms|m|s))+$/.test(text)) return null;
  const parts = text.matchAll(/(?<amount>\d+(?:\.\d+)?)(?<unit>d|h|ms|m|s)/g);
  return [...parts].reduce(
    (sum, { groups }) => sum + Number(groups?.['amount']) * (unitMs[groups?.['unit'] as keyof typeof unitMs] ?? 0),
    0,
  ); // one of the pattern's
}

function msUntil(date = ''): number | null {
  const at = Date.parse(date);
  return Number.isNaN(at) ? null : at - Date.now();
}

/** No provider means more than a day. */
function bounded(ms: number): number {
  return Math.min(Math.max(Math.ceil(ms), 0), 86_400_000);
}
