/** What has a price. */
export const buckets = ['input', 'cached_read', 'cached_write', 'output', 'reasoning', 'call'] as const;
