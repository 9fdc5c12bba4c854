import { ApiError } from '@longhaul/client';
import { useState } from 'react';
import { isUnreachable, reasonOf } from '../app/problem.ts';
import { t } from '../messages/en.ts';
import { BudgetFault } from './budget-fault.tsx';
import { ConflictFacts } from './conflict-facts.tsx';
import { errorsByField } from './field-errors.ts';
import { Notice } from './message-box.tsx';
import { useNow } from './time.tsx';

export { Notice } from './message-box.tsx';

interface FaultProps {
  readonly error: unknown;
  readonly onRetry?: () => void;
  /** JSON pointers of the fields that say themselves what is wrong with them (`useFieldErrors`). */
  readonly fields?: readonly string[];
}

/** What went wrong, in the server's words, with the id that finds it in the logs, and a way on if there is one. */
export function Fault({ error, onRetry, fields = [] }: FaultProps) {
  if (isUnreachable(error)) return <Notice tone="warn" text={t.faults.unreachable} onRetry={onRetry} />;
  if (!(error instanceof ApiError))
    return <Notice tone="bad" text={t.faults.ours(error instanceof Error ? error.message : String(error))} onRetry={onRetry} />;
  if (error.code === 'budget_exceeded') return <BudgetFault error={error} />;
  if (error.retryAfterSeconds !== null && error.retryAfterSeconds > 0)
    return <LaterFault key={error.correlationId} error={error} seconds={error.retryAfterSeconds} onRetry={onRetry} />;
  return (
    <Notice
      tone="bad"
      text={textOf(error)}
      detail={errorsByField(error, fields).rest}
      correlationId={error.correlationId}
      onRetry={error.retryable ? onRetry : undefined}
    >
      {error.status === 409 && <ConflictFacts error={error} />}
    </Notice>
  );
}

function textOf(problem: ApiError): string {
  const known = t.faults.byReason[reasonOf(problem) ?? ''];
  return known ? `${known} ${problem.detail}` : problem.detail;
}

interface LaterProps {
  readonly error: ApiError;
  readonly seconds: number;
  readonly onRetry: (() => void) | undefined;
}

/** Refused for now: counts down what the server wants to be waited. */
function LaterFault({ error, seconds, onRetry }: LaterProps) {
  const [end] = useState(() => Date.now() + seconds * 1_000);
  const left = Math.ceil((end - useNow(true)) / 1_000);
  return (
    <Notice
      tone="warn"
      text={textOf(error)}
      correlationId={error.correlationId}
      onRetry={onRetry}
      retryAfter={left > 0 ? t.faults.retryIn(left) : null}
    />
  );
}
