import { useQuery } from '@tanstack/react-query';
import { useCallback, useEffect, useReducer, useState } from 'react';
import type { ListOptions, ListPage, PagedList } from './paged-list.ts';

export interface LiveList<Row> extends PagedList<Row> {
  readonly freshCount: number;
  readonly showFresh: () => void;
}

interface Rows<Row> {
  readonly shown: readonly Row[];
  /** Newer than what is shown; they wait, so that nothing moves under somebody's eyes. */
  readonly fresh: readonly Row[];
  /** Of the next older page; null: there is none. undefined: nothing has been read. */
  readonly cursor: string | null | undefined;
}

type Change<Row> =
  | { readonly kind: 'polled' | 'older'; readonly page: ListPage<Row> }
  | { readonly kind: 'show-fresh' }
  | { readonly kind: 'begin' };

const pollMs = 5_000;

/** A list, newest first by id, whose first page is read again and again while the tab is visible: known rows change in place, new ones wait. */
export function useLiveList<Row extends { readonly id: string }>({ queryKey, fetchPage }: ListOptions<Row>): LiveList<Row> {
  const [rows, apply] = useReducer(reduceRows<Row>, { shown: [], fresh: [], cursor: undefined });
  const [older, setOlder] = useState<'idle' | 'busy' | { readonly error: unknown }>('idle');
  const first = useQuery({ queryKey, queryFn: ({ signal }) => fetchPage(undefined, signal), refetchInterval: pollMs });
  const key = JSON.stringify(queryKey);

  useEffect(() => apply({ kind: 'begin' }), [key]);
  useEffect(() => {
    if (first.data !== undefined) apply({ kind: 'polled', page: first.data });
  }, [first.data, key]);

  const loadOlder = useCallback(async () => {
    if (typeof rows.cursor !== 'string') return;
    setOlder('busy');
    try {
      apply({ kind: 'older', page: await fetchPage(rows.cursor) });
      setOlder('idle');
    } catch (error) {
      setOlder({ error });
    }
  }, [rows.cursor, fetchPage]);

  return {
    rows: rows.shown,
    freshCount: rows.fresh.length,
    hasMore: typeof rows.cursor === 'string',
    isLoading: first.isPending,
    isLoadingMore: older === 'busy',
    error: typeof older === 'object' ? older.error : first.error,
    showFresh: () => apply({ kind: 'show-fresh' }),
    more: () => void loadOlder(),
  };
}

export function reduceRows<Row extends { readonly id: string }>(rows: Rows<Row>, change: Change<Row>): Rows<Row> {
  switch (change.kind) {
    case 'begin':
      return { shown: [], fresh: [], cursor: undefined };
    case 'show-fresh':
      return { ...rows, shown: [...rows.fresh, ...rows.shown], fresh: [] };
    case 'older': {
      const known = new Set(rows.shown.map(({ id }) => id));
      const added = change.page.items.filter(({ id }) => !known.has(id));
      return { ...rows, shown: [...rows.shown, ...added], cursor: change.page.next_cursor ?? null };
    }
    case 'polled': {
      const { items, next_cursor } = change.page;
      if (rows.cursor === undefined || rows.shown.length === 0) return { shown: items, fresh: [], cursor: next_cursor ?? null };
      const read = new Map(items.map((row) => [row.id, row]));
      const known = new Set(rows.shown.map(({ id }) => id));
      // A row that this page would hold and does not has left the list: it is gone, or the filters no longer let it through.
      const end = next_cursor ? (items.at(-1)?.id ?? '') : '';
      const shown = rows.shown.filter(({ id }) => read.has(id) || id < end).map((row) => read.get(row.id) ?? row);
      return { ...rows, shown, fresh: items.filter(({ id }) => !known.has(id)) };
    }
    default:
      return change satisfies never;
  }
}
