import { t } from '../messages/en.ts';
import styles from './status.module.css';

const tones: Readonly<Record<string, string | undefined>> = {
  queued: styles.idle,
  running: styles.live,
  waiting: styles.warn,
  cancelling: styles.warn,
  succeeded: styles.good,
  failed: styles.bad,
  cancelled: styles.idle,
  denied: styles.bad,
  timed_out: styles.bad,
};

/** A status as a word with a mark; the mark's shape says the same as its colour. */
export function Status({ status }: { readonly status: string }) {
  return (
    <span className={`${styles.status} ${tones[status] ?? styles.idle}`} data-status={status}>
      <span className={styles.mark} aria-hidden="true" />
      {t.status[status] ?? status.replaceAll('_', ' ')}
    </span>
  );
}
