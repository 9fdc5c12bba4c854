import type { Socket } from 'node:net';
import type { Caller } from '../../db/caller.ts';
import type { RightHolder } from '../../db/streams/access.ts';
import { initialFrameState, type InitialFrameState } from '../../db/runs/read/initial-frame.ts';
import { withAutocommit, systemActor, tenantOf } from '../../db/transaction.ts';
import type { Databases } from '../../db/databases.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { Slot } from './admission.ts';
import { StreamConnection, type Sink, type StreamRight } from './connection.ts';
import type { Hub } from './hub.ts';
import type { NoticeRun, StreamAnswer } from './notice.ts';

/** Where a client wants to resume. `lastEventId` is the header as sent and takes precedence over after_seq. */
export interface StreamRequest {
  readonly caller: Caller;
  readonly runId: string;
  readonly lastEventId: string | null;
  readonly afterSeq: number;
  readonly isReplay: boolean;
  readonly correlationId: string;
  /** A client that has closed it needs no answer. */
  readonly socket: Socket;
}

/** `nothing`: 204, so that a browser stops reconnecting. `empty`: a reply without a frame. `stream`: the frames after `cursor`. */
export type StreamConnect =
  | { readonly kind: 'nothing' | 'empty'; readonly headSeq: number }
  | { readonly kind: 'stream'; readonly state: InitialFrameState; readonly cursor: number; readonly slot: Slot };

/** Performs all checks of a stream connect before the first byte of the stream, in one query. Throws 503, 429, 404, 422. */
export async function openStream(deps: { readonly db: Databases; readonly hub: Hub }, request: StreamRequest): Promise<StreamConnect> {
  const { caller, correlationId, runId, socket } = request;
  const slot = deps.hub.takeSlot(principalOf(caller));
  try {
    const options = { tenant: tenantOf(caller), actor: systemActor, correlationId };
    const state = await deps.hub.connectQueue.run('run', socket, () =>
      withAutocommit(deps.db, options, (tx) => initialFrameState({ ...tx, caller, floor: 'viewer' }, runId)),
    );
    if (!state) throw fail('not_found');

    const connect = connectOf(state, request);
    if (connect.kind === 'stream') return { ...connect, slot };
    slot.release();
    return connect;
  } catch (error) {
    slot.release();
    throw error;
  }
}

/** Starts an opened stream on its sink. The sink's owner must pass the `drain` and `close` events of the wire to the connection. */
export function startStream(
  hub: Hub,
  connect: Extract<StreamConnect, { kind: 'stream' }>,
  { sink, caller, answer }: { readonly sink: Sink; readonly caller: Caller; readonly answer: StreamAnswer },
): StreamConnection {
  const { state, slot, cursor } = connect;
  const channel = hub.channel(state);
  const run = noticeRunOf(state, channel.runId);
  const connection = new StreamConnection(hub, { channel, slot, sink, run, right: rightOf(caller), answer }, cursor);
  hub.watch(channel, connection);
  hub.register(connection);
  connection.advance();
  return connection;
}

/** Decides how a stream connect is answered, by the run's state and the requested position. Throws `cursor_invalid` for a position ahead of the run. */
export function connectOf(
  state: InitialFrameState,
  request: Pick<StreamRequest, 'lastEventId' | 'afterSeq' | 'isReplay'>,
):
  | { readonly kind: 'nothing' | 'empty'; readonly headSeq: number }
  | { readonly kind: 'stream'; readonly state: InitialFrameState; readonly cursor: number } {
  const { headSeq, isEnded } = state;
  const isHeader = request.lastEventId !== null;
  const cursor = isHeader ? numberOf(request.lastEventId) : request.afterSeq;
  if (cursor === null || cursor > headSeq) throw fail('cursor_invalid', { context: { last_seq: headSeq } });

  if (!isEnded) return { kind: 'stream', state, cursor: request.isReplay ? cursor : headSeq };
  if (isHeader && cursor === headSeq) return { kind: 'nothing', headSeq };
  if (request.isReplay && cursor < headSeq) return { kind: 'stream', state, cursor };
  return { kind: 'empty', headSeq };
}

export function principalOf(caller: Caller): string {
  return `${caller.kind}:${caller.principalId}`;
}

/** Returns the holder by whose right something is shown from now on: about a run, in a workspace, or neither. */
export function holderOf(caller: Caller, shown: Partial<Pick<RightHolder, 'runId' | 'place'>>, openedAt: Date): RightHolder {
  return { runId: null, place: null, ...shown, ...rightOf(caller), openedAt };
}

function rightOf(caller: Caller): StreamRight {
  return {
    kind: caller.impersonationId === null ? caller.kind : 'impersonation',
    principalId: caller.impersonationId ?? caller.principalId,
    sessionId: caller.sessionId,
    actingUserId: caller.actingUserId,
  };
}

/** Returns what notices need of the run, with one string for an id that all its watchers hold. */
function noticeRunOf({ rootRunId, parentRunId, path }: InitialFrameState, runId: string): NoticeRun {
  return { runId, rootRunId: rootRunId === runId ? runId : rootRunId, parentRunId, path };
}

function numberOf(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}
