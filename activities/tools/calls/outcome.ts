import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import type { EgressPolicy } from '../../../ports/egress/egress.ts';
import { exactText, markInexact } from '../../../workflows/contracts/tools/exact-json.ts';
import { valueAt } from '../../../ports/json/pointer.ts';
import type { ToolKind, ToolResultCode } from '../../../workflows/contracts/runs/runs.ts';

/** A tool as the run pinned it: what an execution needs to know of it. */
export interface ExecutableTool {
  /** Null: the platform's own, without a row. */
  readonly toolId: string | null;
  readonly kind: ToolKind;
  readonly slug: string;
  readonly config: Readonly<Record<string, unknown>>;
  /** Where its result is cut; 20,000 when left out. */
  readonly responseMaxChars?: number;
}

/** One call to execute. `args` fit the tool's input schema; presets are merged in already. */
export interface ToolExecution {
  readonly tool: ExecutableTool;
  readonly toolCallId: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Null when an author tries the tool outside a run. */
  readonly run: { readonly id: string } | null;
  /** What its requests say in `X-Longhaul-Hops`: how many hooks its cause has come through, and this call. */
  readonly hops: number;
  readonly place: { readonly organizationId: string; readonly workspaceId: string };
  /** Value of a secret that the tool names; null when there is none. What it gave is masked in output, error and echo. */
  readonly secret: (name: string) => Promise<string | null>;
  /** A short transaction in the tenant of the place. */
  readonly transact: <R>(work: (tx: TenantTransaction) => Promise<R>) => Promise<R>;
  /** Roots for templates beside `args`: agent, workspace, subject, now, vars, run. */
  readonly variables: Readonly<Record<string, unknown>>;
  readonly policy: EgressPolicy;
  /** Repeats carry the call's id as Idempotency-Key where the tool has a header for it. */
  readonly timeoutMs: number;
  /** Aborted when the run is cancelled or the worker stops; then `executeTool` throws its reason. */
  readonly signal: AbortSignal;
  readonly readOutput: (callId: string, offset: number, limit: number) => Promise<{ text: string; totalChars: number } | null>;
}

/** A call as the executor hands it on: what its secrets gave can be concealed and masked. */
export interface GuardedExecution extends ToolExecution {
  /** Masks also what was made of a secret: a token, an encoded pair. */
  readonly conceal: (secretName: string, value: string) => void;
  /** For what is cut before it leaves the executor; whole outcomes are masked anyway. */
  readonly mask: (text: string) => string;
}

export interface ToolError {
  readonly code: ToolResultCode;
  readonly message: string;
  readonly retryable: boolean;
  readonly reason: string | null;
}

/** A file that a tool gave. */
export interface ToolFile {
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: Buffer;
  /** The bytes should be readable and are not, for a coding that is not understood or a text that is none: a secret in them can't be found. */
  readonly isOpaque?: boolean;
}

/** What came back, before it is cut for the model. A tool's failure is a result for the model, never the run's. */
export type ToolOutcome =
  | { readonly status: 'succeeded'; readonly type: 'text'; readonly text: string; readonly cached?: boolean }
  | { readonly status: 'succeeded'; readonly type: 'json'; readonly value: unknown; readonly cached?: boolean }
  /** Bytes that are neither text nor JSON: stored as attachments; `text` goes to the model beside them. */
  | { readonly status: 'succeeded'; readonly type: 'files'; readonly files: readonly ToolFile[]; readonly text: string }
  /**
   * `mayHaveHappened`: the request left, and what came of it is not known. `needsConsent`: it did not happen, and a person has been asked for a consent
   * with which it can.
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
 * JSON that a tool gave, at a pointer; what is none is text. Where a double would change one of its numbers it becomes text as well, the JSON with the
 * number as the tool wrote it: models read both alike.
 */
export function jsonOutcome(text: string, pointer = ''): ToolOutcome {
  try {
    const marked = markInexact(text, 'all');
    const whole: unknown = JSON.parse(marked);
    const value = pointer === '' ? whole : (valueAt(whole, pointer) ?? null);
    return marked === text ? { status: 'succeeded', type: 'json', value } : exactOutcome(value);
  } catch {
    return { status: 'succeeded', type: 'text', text };
  }
}

/** The outcome of a value that may hold marks of `markInexact`. */
export function exactOutcome(value: unknown): ToolOutcome {
  const text = exactText(value);
  return text === JSON.stringify(value) ? { status: 'succeeded', type: 'json', value } : { status: 'succeeded', type: 'text', text };
}
