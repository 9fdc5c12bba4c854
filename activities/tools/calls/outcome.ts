import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import type { EgressPolicy } from '../../../ports/egress/egress.ts';
import { exactText, tagInexact } from '../../../workflows/contracts/tools/exact-json.ts';
import { valueAt } from '../../../ports/json/pointer.ts';
import type { ToolKind, ToolResultCode } from '../../../workflows/contracts/runs/runs.ts';

/** A tool as the run pinned it: what an execution needs to know about it. */
export interface ExecutableTool {
  /** Null: a built-in tool of the platform, without a row. */
  readonly toolId: string | null;
  readonly kind: ToolKind;
  readonly slug: string;
  readonly config: Readonly<Record<string, unknown>>;
  /** Characters at which its result is truncated; 20,000 when omitted. */
  readonly responseMaxChars?: number;
}

/** One call to execute. `args` fit the tool's input schema; presets are already merged in. */
export interface ToolExecution {
  readonly tool: ExecutableTool;
  readonly toolCallId: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Null when an author tries the tool outside a run. */
  readonly run: { readonly id: string } | null;
  /** The value of `X-Longhaul-Hops` in its requests: how many hooks its cause has come through, plus this call. */
  readonly hops: number;
  readonly place: { readonly organizationId: string; readonly workspaceId: string };
  /** Returns the value of a secret that the tool names; null when there is none. The value is masked in output, error and echo. */
  readonly secret: (name: string) => Promise<string | null>;
  /** Runs a short tenant transaction in the call's organization and workspace. */
  readonly transact: <R>(work: (tx: TenantTransaction) => Promise<R>) => Promise<R>;
  /** Roots for templates beside `args`: agent, workspace, subject, now, vars, run. */
  readonly variables: Readonly<Record<string, unknown>>;
  readonly policy: EgressPolicy;
  /** Repeats carry the call's id as Idempotency-Key where the tool has a header for it. */
  readonly timeoutMs: number;
  /** Aborted when the run is cancelled or the worker stops; then `execute` throws its reason. */
  readonly signal: AbortSignal;
  readonly readOutput: (callId: string, offset: number, limit: number) => Promise<{ text: string; totalChars: number } | null>;
}

/** A call as the executor passes it on: values derived from its secrets can be concealed and masked. */
export interface GuardedExecution extends ToolExecution {
  /** Also masks a value derived from a secret: a token, an encoded pair. */
  readonly conceal: (secretName: string, value: string) => void;
  /** For text that is truncated before it leaves the executor; whole outcomes are masked anyway. */
  readonly mask: (text: string) => string;
}

export interface ToolError {
  readonly code: ToolResultCode;
  readonly message: string;
  readonly retryable: boolean;
  readonly reason: string | null;
}

/** A file that a tool returned. */
export interface ToolFile {
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: Buffer;
  /** The bytes should be readable and are not, because of an unknown coding or invalid text: a secret in them can't be found. */
  readonly isOpaque?: boolean;
}

/** The result of an execution, before it is truncated for the model. A tool's failure is a result for the model, never a failure of the run. */
export type ToolOutcome =
  | { readonly status: 'succeeded'; readonly type: 'text'; readonly text: string; readonly cached?: boolean }
  | { readonly status: 'succeeded'; readonly type: 'json'; readonly value: unknown; readonly cached?: boolean }
  /** Bytes that are neither text nor JSON: stored as attachments; `text` goes to the model beside them. */
  | { readonly status: 'succeeded'; readonly type: 'files'; readonly files: readonly ToolFile[]; readonly text: string }
  /**
   * `mayHaveHappened`: the request was sent, and its effect is unknown. `needsConsent`: the call did not happen, and a person has been asked for the consent
   * that it needs.
   */
  | {
      readonly status: 'failed' | 'timed_out';
      readonly error: ToolError;
      readonly mayHaveHappened?: boolean;
      readonly needsConsent?: boolean;
    };

/** An error for the model: one of the result codes and a text of at most 1,000 characters. */
export function toolError(code: ToolResultCode, message: string, retryable: boolean, reason: string | null = null): ToolError {
  return { code, message: message.slice(0, 1_000), retryable, reason };
}

export function failed(code: ToolResultCode, message: string, retryable: boolean, reason: string | null = null): ToolOutcome {
  return { status: 'failed', error: toolError(code, message, retryable, reason) };
}

/**
 * Returns JSON of a tool, at a pointer; text that is not JSON stays text. JSON with a number that a double would change becomes text as well, with the number
 * as the tool wrote it: models read both alike.
 */
export function jsonOutcome(text: string, pointer = ''): ToolOutcome {
  try {
    const tagged = tagInexact(text, 'all');
    const whole: unknown = JSON.parse(tagged);
    const value = pointer === '' ? whole : (valueAt(whole, pointer) ?? null);
    return tagged === text ? { status: 'succeeded', type: 'json', value } : exactOutcome(value);
  } catch {
    return { status: 'succeeded', type: 'text', text };
  }
}

/** Returns the outcome of a value that may hold tags of `tagInexact`. */
export function exactOutcome(value: unknown): ToolOutcome {
  const text = exactText(value);
  return text === JSON.stringify(value) ? { status: 'succeeded', type: 'json', value } : { status: 'succeeded', type: 'text', text };
}
