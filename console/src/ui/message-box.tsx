import { useState, type ReactNode } from 'react';
import { Button } from 'react-aria-components';
import { t } from '../messages/en.ts';
import styles from './notice.module.css';

interface NoticeProps {
  readonly tone: 'warn' | 'bad' | 'plain';
  readonly text: string;
  readonly detail?: readonly string[];
  readonly correlationId?: string | null;
  readonly onRetry?: () => void;
  /** Why trying again is not possible yet. */
  readonly retryAfter?: string | null;
  /** What else is known, and ways on. */
  readonly children?: ReactNode;
}

/** Something that people have to know, in its place on the page. */
export function Notice({ tone, text, detail = [], correlationId, onRetry, retryAfter = null, children }: NoticeProps) {
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
      {children}
      {(correlationId || onRetry || retryAfter !== null) && (
        <div className={styles.foot}>
          {onRetry && (
            <Button onPress={onRetry} isDisabled={retryAfter !== null}>
              {t.actions.retry}
            </Button>
          )}
          {retryAfter !== null && <span aria-hidden="true">{retryAfter}</span>}
          {correlationId && <CopyId id={correlationId} />}
        </div>
      )}
    </div>
  );
}

/** The id that finds a request in the logs, to be copied; without a secure context it is selected, ready for the keyboard. */
function CopyId({ id }: { readonly id: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    // Plain http has no clipboard.
    if (!('clipboard' in navigator)) return select(id);
    await navigator.clipboard.writeText(id).then(
      () => setCopied(true),
      () => select(id),
    );
  };
  return (
    <Button className="react-aria-Button quiet" onPress={() => void copy()} aria-label={t.faults.copyId(id)}>
      <code data-correlation-id={id}>{id}</code>
      {isCopied && <span role="status">{t.faults.copied}</span>}
    </Button>
  );
}

function select(id: string): void {
  const text = document.querySelector(`[data-correlation-id="${CSS.escape(id)}"]`);
  if (text !== null) getSelection()?.selectAllChildren(text);
}
