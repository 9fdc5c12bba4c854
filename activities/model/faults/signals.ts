import { ModelError } from './errors.ts';
import { classOfStatus, classOfTold, isRetryableStatus } from './fault-class.ts';
import { redact, type Redaction } from '../wire/redact.ts';
import type { TokenUsage } from '../usage/usage.ts';

/** What went wrong, without anything of the request: the SDK's errors carry the prompt. */
export type ProviderFault =
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

export interface FaultContext extends Redaction {
  /** Whether something readable had arrived before. */
  readonly hasBegun: boolean;
  readonly requestId: string | null;
  readonly usage: TokenUsage | null;
}

/** The table of signals: which class an error has, whether it is worth another try, and when. */
export function toModelError(fault: ProviderFault, context: FaultContext): ModelError {
  const common = { providerRequestId: context.requestId, usage: context.usage };

  switch (fault.kind) {
    case 'http': {
      const errorClass = classOfStatus(fault.status, fault);
      return new ModelError(errorClass, {
        ...common,
        message: told(`the model provider answered ${fault.status}`, fault, context),
        retryable: shouldRetry(fault.headers) ?? (errorClass !== 'ContextTooLong' && isRetryableStatus(fault.status)),
        retryAfterMs: retryAfterMs(fault.headers),
        status: fault.status,
        providerCode: fault.code,
        providerRequestId: fault.requestId ?? context.requestId,
      });
    }
    case 'told': {
      const errorClass = classOfTold(fault);
      return new ModelError(errorClass, {
        ...common,
        message: told('the model provider answered with an error', fault, context),
        status: fault.status,
        providerCode: fault.code,
      });
    }
    case 'garbled':
      if (!context.hasBegun)
        return new ModelError('Unreachable', {
          ...common,
          message: told('the model provider sent an unreadable answer', { code: null, message: fault.message }, context),
        });
      return new ModelError('StreamCut', {
        ...common,
        message: told(
          'the answer of the model ended before its end, or became unreadable',
          { code: null, message: fault.message },
          context,
        ),
      });
    case 'network': {
      const code = fault.code === null ? '' : ` (${fault.code})`;
      if (context.hasBegun)
        return new ModelError('StreamCut', {
          ...common,
          message: `the connection to the model provider broke${code}`,
          providerCode: fault.code,
        });
      return new ModelError('Unreachable', { ...common, message: `the model provider can't be reached${code}`, providerCode: fault.code });
    }
    case 'refused_request':
      return new ModelError('Rejected', { ...common, message: 'the settings or content of this call are not possible with this model' });
    default:
      return fault satisfies never;
  }
}

function told(what: string, fault: { readonly code: string | null; readonly message: string }, context: FaultContext): string {
  const code = fault.code === null ? '' : ` (${fault.code.slice(0, 80)})`;

  return redact(fault.message === '' ? `${what}${code}` : `${what}${code}: ${fault.message}`, context);
}

/** `x-should-retry` outranks the status. */
function shouldRetry(headers: Readonly<Record<string, string>>): boolean | null {
  const value = headers['x-should-retry'];
  if (value === 'true') return true;

  return value === 'false' ? false : null;
}

/** `retry-after-ms`, else `Retry-After` in seconds or as a date (RFC 9110 §10.2.3); null when neither is usable. */
function retryAfterMs(headers: Readonly<Record<string, string>>): number | null {
  const ms = Number.parseFloat(headers['retry-after-ms'] ?? '');
  if (Number.isFinite(ms)) return bounded(ms);

  const value = headers['retry-after'];
  if (value === undefined) return null;
  if (/^\d+(\.\d+)?$/.test(value.trim())) return bounded(Number(value) * 1_000);

  const date = Date.parse(value);
  return Number.isNaN(date) ? null : bounded(date - Date.now());
}

/** No provider means more than a day. */
function bounded(ms: number): number {
  return Math.min(Math.max(Math.ceil(ms), 0), 86_400_000);
}
