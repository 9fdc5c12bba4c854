import type { ReactNode } from 'react';
import { Button } from 'react-aria-components';
import { useTitle } from '../app/card-page.tsx';
import { t } from '../messages/en.ts';
import { Fault } from './notice.tsx';
import styles from './page.module.css';
import type { PagedList } from './paged-list.ts';

/** A view with its heading and what can be done in it. */
export function Page({ title, actions, children }: { readonly title: string; readonly actions?: ReactNode; readonly children: ReactNode }) {
  useTitle(title);
  return (
    <div className={styles.page}>
      <div className={styles.top}>
        <h1>{title}</h1>
        {actions}
      </div>
      {children}
    </div>
  );
}

export function Section({
  title,
  actions,
  children,
}: {
  readonly title: string;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}) {
  return (
    <section className={styles.section} aria-label={title}>
      <div className={styles.top}>
        <h2>{title}</h2>
        {actions}
      </div>
      {children}
    </section>
  );
}

export function Filters({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <div role="group" aria-label={label} className={styles.filters}>
      {children}
    </div>
  );
}

/** Names and values. */
export function Facts({ facts }: { readonly facts: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className={styles.facts}>
      {facts.flatMap(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name} value`}>{value ?? '–'}</dd>])}
    </dl>
  );
}

interface ListStateProps<Row> {
  readonly list: PagedList<Row>;
  readonly isFiltered?: boolean;
}

/** What stands around the rows of a list: that it loads, that it is empty, what went wrong, and the way to more. */
export function ListState<Row>({ list, isFiltered = false }: ListStateProps<Row>) {
  return (
    <>
      <ListNotice list={list} isFiltered={isFiltered} />
      <MoreRows list={list} />
    </>
  );
}

/** What stands above the rows where they may be many. */
export function ListNotice<Row>({ list, isFiltered = false }: ListStateProps<Row>) {
  if (list.error !== null) return <Fault error={list.error} onRetry={list.retry} />;
  if (list.isLoading) return <p role="status">{t.list.loading}</p>;
  return list.rows.length === 0 ? <p className="hint">{isFiltered ? t.list.emptyFiltered : t.list.empty}</p> : null;
}

export function MoreRows<Row>({ list }: Pick<ListStateProps<Row>, 'list'>) {
  if (!list.hasMore) return null;
  return (
    <div>
      <Button onPress={list.more} isPending={list.isLoadingMore}>
        {t.list.more}
      </Button>
    </div>
  );
}
