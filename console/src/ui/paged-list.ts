import { useInfiniteQuery } from '@tanstack/react-query';

/** A page of a list, as the API has it. */
export interface ListPage<Row> {
  readonly items: readonly Row[];
  readonly next_cursor?: string | null;
}

export interface PagedList<Row> {
  readonly rows: readonly Row[];
  readonly hasMore: boolean;
  readonly isLoading: boolean;
  readonly isLoadingMore: boolean;
  readonly error: unknown;
  readonly more: () => void;
  /** Reads it again, after an error; undefined: it does so by itself. */
  readonly retry?: () => void;
}

const pollMs = 5_000;

export interface ListOptions<Row> {
  /** Names the list with its filters. */
  readonly queryKey: readonly unknown[];
  readonly fetchPage: (cursor: string | undefined, signal?: AbortSignal) => Promise<ListPage<Row>>;
}

/** A list in the server's order, which moves rarely: while only its first page is shown, that is read again every few seconds in the visible tab. */
export function usePagedList<Row>({ queryKey, fetchPage }: ListOptions<Row>): PagedList<Row> {
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => fetchPage(pageParam, signal),
    initialPageParam: undefined as string | undefined, // the first page has no cursor
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 1 ? false : pollMs),
  });
  return {
    rows: query.data?.pages.flatMap(({ items }) => items) ?? [],
    hasMore: query.hasNextPage,
    isLoading: query.isPending,
    isLoadingMore: query.isFetchingNextPage,
    error: query.error,
    more: () => void query.fetchNextPage(),
    retry: () => void query.refetch(),
  };
}
