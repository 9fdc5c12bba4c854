import { useEffect, type ReactNode } from 'react';
import { t } from '../messages/en.ts';
import styles from './card-page.module.css';

/** A page with one thing to do, for those who are not signed in. */
export function CardPage({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  useTitle(title);
  return (
    <main className={styles.page}>
      <div className={styles.card}>
        <p className={styles.brand}>
          <img src="/console/icon.svg" alt="" width="22" height="22" />
          {t.product}
        </p>
        <h1>{title}</h1>
        {children}
      </div>
    </main>
  );
}

/** Names the tab. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · ${t.product}`;
  }, [title]);
}
