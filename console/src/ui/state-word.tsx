import styles from './status.module.css';

export type Tone = 'good' | 'bad' | 'warn' | 'live' | 'idle';

/** The state of something that is no run, as a word with a mark; the mark's shape says the same as its colour. */
export function StateWord({ tone, text }: { readonly tone: Tone; readonly text: string }) {
  return (
    <span className={`${styles.status} ${styles[tone]}`} data-status={text}>
      <span className={styles.mark} aria-hidden="true" />
      {text}
    </span>
  );
}
