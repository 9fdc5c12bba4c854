import { useInfiniteQuery } from '@tanstack/react-query';

interface Page<Item> {
  readonly items: readonly Item[];
  readonly next_cursor?: string | null;
}

interface PagedOptions<Item> {
  readonly queryKey: readonly unknown[];
  readonly fetchPage: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<Item>>;
  /** Whether it still grows: then what has been read is read again every few seconds. */
  readonly isLive: boolean;
}

const pollMs = 5_000;

/** A list, oldest first, page by page. */
export function usePaged<Item>({ queryKey, fetchPage, isLive }: PagedOptions<Item>) {
  const pages = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => fetchPage(pageParam, signal),
    initialPageParam: undefined as string | undefined, // the first page has no cursor
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    refetchInterval: isLive ? pollMs : false,
  });
  return {
    items: pages.data?.pages.flatMap(({ items }) => items) ?? [],
    isLoading: pages.isPending,
    error: pages.error,
    hasMore: pages.hasNextPage,
    isLoadingMore: pages.isFetchingNextPage,
    loadMore: () => void pages.fetchNextPage(),
    again: () => void pages.refetch(),
  };
}
