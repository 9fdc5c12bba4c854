import { useEffect, useState } from 'react';
import { emptyTimeline, withFrames, type Timeline } from './timeline.ts';
import { watchRun, type Link } from './watch-run.ts';

/** A run as its frames tell it, from the first one on. Another run needs another component (`key`). */
export function useTimeline(runId: string): { readonly timeline: Timeline; readonly link: Link } {
  const [timeline, setTimeline] = useState(emptyTimeline);
  const [link, setLink] = useState<Link>('connecting');
  useEffect(() => {
    const abort = new AbortController();
    void watchRun({
      runId,
      signal: abort.signal,
      onFrames: (frames) => {
        if (!abort.signal.aborted) setTimeline((before) => withFrames(before, frames));
      },
      onLink: (next) => {
        if (!abort.signal.aborted) setLink(next);
      },
    });
    return () => abort.abort();
  }, [runId]);
  return { timeline, link };
}
