import { holderOf, principalOf } from '../streams/attach.ts';
import { callerNow } from './batch.ts';
import { catalogueOf } from './catalogue.ts';
import { openEventStream } from './event-stream.ts';
import type { Http, RawCtx } from './exchange.ts';

export interface ListStream {
  /** Sent at once. */
  readonly first: string | null;
  /** Sent whenever the caller's list of tools has changed; null if the client did not subscribe to that, so that the stream ends at once. */
  readonly changed: string | null;
  /** Sent before the server itself ends the stream. */
  readonly last: string | null;
  /** Whether the stream's MCP session still exists. */
  readonly isAlive: () => Promise<boolean>;
}

/** The maximum delay until a revoked credential ends the stream and a changed role is reported. */
const checkMs = 5_000;

/** Keeps an event stream open and sends `changed` when the caller's tools have changed. Throws 429 and 503 before its first byte. */
export function serveListStream(ctx: RawCtx, http: Http, stream: ListStream): void {
  const { deps, caller, log } = ctx;
  const slot = deps.hub.takeSlot(principalOf(caller));
  const catalogue = catalogueOf(deps.operations);
  const events = openEventStream(http);
  let key = catalogue.keyOf(caller);
  let isChecking = false;

  const check = async () => {
    if (isChecking) return;
    isChecking = true;
    try {
      const now = await keyNow(ctx, http);
      if (now === null || !(await stream.isAlive())) return end();
      if (now !== key && stream.changed !== null) events.send(stream.changed);
      key = now;
    } catch (err) {
      log.warn({ err }, 'mcp stream could not be checked');
    } finally {
      isChecking = false;
    }
  };
  const timer = setInterval(() => void check(), checkMs);
  const end = () => {
    if (stream.last !== null) events.send(stream.last);
    events.end();
  };
  const release = deps.hub.hold({ holder: holderOf(caller, {}, deps.db.clock.now()), close: end });
  const cleanUp = () => {
    clearInterval(timer);
    release();
    deps.hub.draining.removeEventListener('abort', end);
    slot.release();
  };

  deps.hub.draining.addEventListener('abort', end);
  if (stream.first !== null) events.send(stream.first);
  if (events.gone.aborted) cleanUp();
  else events.gone.addEventListener('abort', cleanUp);
  if (stream.changed === null) end();
}

/** Returns the key of the tools that the stream's credential allows now; null if the credential is refused. Throws if that is unknown. */
async function keyNow({ deps }: RawCtx, { request }: Http): Promise<string | null> {
  try {
    return catalogueOf(deps.operations).keyOf(await callerNow(deps, request));
  } catch (error) {
    if (isRefusal(error)) return null;
    throw error;
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof Error && 'status' in error && typeof error.status === 'number' && error.status < 500;
}
