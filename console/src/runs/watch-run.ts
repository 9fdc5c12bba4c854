import { isCode } from '@longhaul/client';
import { api } from '../app/api.ts';
import type { Frame } from './frames.ts';

/** How frames come. `polling`: neither a socket nor a free connection is to be had. */
export type Link = 'connecting' | 'live' | 'lost' | 'polling' | 'ended' | 'gone';

interface WatchOptions {
  readonly runId: string;
  readonly signal: AbortSignal;
  /** Frames in order, as many as have come since the last call. */
  readonly onFrames: (frames: readonly Frame[]) => void;
  readonly onLink: (link: Link) => void;
}

/** What one connection came to. */
type Outcome = 'finished' | 'gone' | 'again' | 'refused';

const refusedBeforeFallback = 2;
const slots = ['lh-sse-1', 'lh-sse-2'];
const pollMs = 5_000;
const lostAfterMs = 2_000;

/**
 * Follows a run until its end, over as many connections as it takes, each going on behind the last frame. A WebSocket first: of plain streams a browser opens six
 * to one host, and here at most two, whatever the number of tabs; tabs beyond that look every few seconds.
 */
export async function watchRun({ runId, signal, onFrames, onLink }: WatchOptions): Promise<void> {
  let last = 0;
  let refused = 0;
  let failures = 0;
  let lostTimer: ReturnType<typeof setTimeout> | null = null;
  const settle = (link: Link) => {
    if (lostTimer !== null) clearTimeout(lostTimer);
    lostTimer = null;
    onLink(link);
  };
  const take = (frames: readonly Frame[], link: Link) => {
    const numbered = frames.filter(({ seq }) => seq !== null);
    if (numbered.length === 0) return;
    last = numbered.at(-1)?.seq ?? last;
    failures = 0;
    settle(link);
    onFrames(numbered);
  };

  onLink('connecting');
  while (!signal.aborted) {
    const way = { runId, signal, after: last };
    const outcome =
      refused < refusedBeforeFallback
        ? await overSocket(
            way,
            (frames) => take(frames, 'live'),
            () => settle('live'),
          )
        : await overFetch(way, take, settle);
    if (signal.aborted) return;
    if (outcome === 'finished') return settle('ended');
    if (outcome === 'gone') return settle('gone');
    refused = outcome === 'refused' ? refused + 1 : refused;
    failures += 1;
    lostTimer ??= setTimeout(() => onLink('lost'), lostAfterMs);
    await pause(Math.random() * Math.min(10_000, 300 * 2 ** failures), signal);
  }
}

interface Way {
  readonly runId: string;
  readonly signal: AbortSignal;
  readonly after: number;
}

async function overSocket(
  { runId, signal, after }: Way,
  onFrames: (frames: readonly Frame[]) => void,
  onOpen: () => void,
): Promise<Outcome> {
  const token = await api
    .createStreamToken({ run_id: runId }, { signal })
    .catch((error: unknown) => (isCode(error, 'not_found') ? 'gone' : 'again'));
  if (typeof token === 'string') return token;

  return new Promise<Outcome>((resolve) => {
    const url = new URL(`/ws/runs/${runId}`, location.href);
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    const socket = new WebSocket(url);
    const batch = batched(onFrames);
    let hasOpened = false;
    const abort = () => socket.close();
    signal.addEventListener('abort', abort, { once: true });
    socket.addEventListener('open', () => {
      hasOpened = true;
      socket.send(JSON.stringify({ type: 'auth', token: token.token, after_seq: after, replay: true }));
      onOpen();
    });
    socket.addEventListener('message', ({ data }: MessageEvent<string>) => batch.add(JSON.parse(data) as Frame)); // the stream protocol
    socket.addEventListener('close', ({ code }) => {
      signal.removeEventListener('abort', abort);
      batch.flush();
      if (code === 1000) return resolve('finished');
      if (code === 4404) return resolve('gone');
      resolve(hasOpened ? 'again' : 'refused');
    });
  });
}

type Take = (frames: readonly Frame[], link: Link) => void;

async function overFetch(way: Way, take: Take, settle: (link: Link) => void): Promise<Outcome> {
  for (const slot of 'locks' in navigator ? slots : []) {
    const held = await navigator.locks.request(slot, { ifAvailable: true }, async (lock) => {
      if (lock === null) return null;
      settle('live');
      return readStream(way, (frames) => take(frames, 'live'));
    });
    if (held !== null) return held;
  }
  // A short look: what is there already comes at once.
  settle('polling');
  const outcome = await readStream({ ...way, signal: AbortSignal.any([way.signal, AbortSignal.timeout(1_500)]) }, (frames) =>
    take(frames, 'polling'),
  );
  if (outcome === 'again') await pause(pollMs, way.signal);
  return outcome;
}

async function readStream({ runId, signal, after }: Way, onFrames: (frames: readonly Frame[]) => void): Promise<Outcome> {
  const batch = batched(onFrames);
  try {
    for await (const frame of api.streamRun({ run_id: runId, after_seq: after }, { signal, patienceMs: 1 })) batch.add(frame);
    return 'finished';
  } catch (error) {
    return isCode(error, 'not_found') ? 'gone' : 'again';
  } finally {
    batch.flush();
  }
}

/** Hands frames on once per picture, and at once when the tab is hidden, where no picture comes. */
function batched(onFrames: (frames: readonly Frame[]) => void) {
  let waiting: Frame[] = [];
  let asked = 0;
  const flush = () => {
    cancelAnimationFrame(asked);
    asked = 0;
    const frames = waiting;
    waiting = [];
    if (frames.length > 0) onFrames(frames);
  };
  return {
    flush,
    add(frame: Frame): void {
      waiting.push(frame);
      if (document.visibilityState === 'hidden') setTimeout(() => waiting.length > 0 && flush(), 250);
      else if (asked === 0) asked = requestAnimationFrame(flush);
    },
  };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
  });
}
