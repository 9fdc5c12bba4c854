import { ApiError } from '@longhaul/client';
import { Button } from 'react-aria-components';
import { isUnreachable, reasonOf } from '../app/problem.ts';
import { t } from '../messages/en.ts';
import styles from './notice.module.css';

/** What went wrong, in the server's words, with the id that finds it in the logs, and a way on if there is one. */
export function Fault({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => void }) {
  if (isUnreachable(error)) return <Notice tone="warn" text={t.faults.unreachable} onRetry={onRetry} />;
  if (!(error instanceof ApiError))
    return <Notice tone="bad" text={t.faults.ours(error instanceof Error ? error.message : String(error))} onRetry={onRetry} />;
  return (
    <Notice
      tone="bad"
      text={textOf(error)}
      detail={error.errors.map(({ pointer, name, message }) => `${pointer ?? name ?? ''} ${message}`.trim())}
      correlationId={error.correlationId}
      onRetry={error.retryable ? onRetry : undefined}
    />
  );
}

function textOf(problem: ApiError): string {
  const known = t.faults.byReason[reasonOf(problem) ?? ''];
  return known ? `${known} ${problem.detail}` : problem.detail;
}

interface NoticeProps {
  readonly tone: 'warn' | 'bad' | 'plain';
  readonly text: string;
  readonly detail?: readonly string[];
  readonly correlationId?: string | null;
  readonly onRetry?: () => void;
}

export function Notice({ tone, text, detail = [], correlationId, onRetry }: NoticeProps) {
  return (
    <div className={styles[tone]} role={tone === 'plain' ? 'status' : 'alert'}>
      <p>{text}</p>
      {detail.length > 0 && (
        <ul>
          {detail.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      )}
      {(correlationId || onRetry) && (
        <div className={styles.foot}>
          {onRetry && <Button onPress={onRetry}>{t.actions.retry}</Button>}
          {correlationId && (
            <Button
              className="react-aria-Button quiet"
              onPress={() => void navigator.clipboard?.writeText(correlationId)}
              aria-label={t.faults.copyId(correlationId)}
            >
              <code>{correlationId}</code>
            </Button>
          )}
        </div>
      )}
    </div>
  );
}
