import { issueStreamToken } from '../../domain/identity/sessions/stream-tokens.ts';
import { iso } from '../../db/sql.ts';
import { initialFrameState } from '../../db/runs/read/initial-frame.ts';
import { streamProtocol } from '../../workflows/contracts/runs/frames.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { post, raw, reply } from '../http/operation/operation.ts';
import { openStream } from '../streams/attach.ts';
import { serveSse } from '../streams/sse.ts';
import { StreamHeaders, StreamParams, StreamQuery, StreamTokenView } from './stream.schema.ts';

export const streamOperations = {
  streamRun: raw(
    '/runs/{run_id}/stream',
    {
      summary: 'Watch a run',
      description:
        'Streams the run’s frames as server-sent events until run.finished: from the start, after after_seq or Last-Event-ID, or only live frames with replay=false. Frames and grammar: GET /stream-protocol. Disconnecting does not cancel the run.',
      access: 'viewer',
      fails: ['cursor_invalid'],
      params: StreamParams,
      query: StreamQuery,
      headers: StreamHeaders,
      produces: 'text/event-stream',
      headReply: 'refused',
      success: [200, 204],
    },
    async ({ caller, correlationId, deps }, { params, query }, http) => {
      const lastEventId = http.request.headers['last-event-id'];
      const connect = await openStream(deps, {
        caller,
        correlationId,
        runId: params.run_id,
        lastEventId: typeof lastEventId === 'string' ? lastEventId : null,
        afterSeq: query.after_seq ?? 0,
        isReplay: query.replay ?? true,
        socket: http.request.raw.socket,
      });
      serveSse(http, connect, { hub: deps.hub, caller, publicUrl: deps.env.publicUrl });
    },
  ),

  createStreamToken: post(
    '/runs/{run_id}/stream-token',
    {
      summary: 'Create a stream token',
      description:
        'Returns a token that opens one WebSocket for one run, once, within 60 s, as the caller; send it in the first message of the socket, never in a URL.',
      access: 'viewer',
      audit: 'submit',
      // Reading remains possible.
      openWhenSuspended: true,
      resourceType: 'run',
      scope: 'runs:read',
      secretReply: true,
      success: [201],
      params: StreamParams,
      view: StreamTokenView,
    },
    async (ctx, { params }) => {
      const run = await initialFrameState(ctx, params.run_id);
      if (!run) throw fail('not_found');

      const { token, expiresAt } = await issueStreamToken(ctx, {
        id: run.runId,
        organizationId: run.organizationId,
        workspaceId: run.workspaceId,
      });
      ctx.audit({ resourceType: 'run', resourceId: run.runId, organizationId: run.organizationId, workspaceId: run.workspaceId });
      return reply({
        token,
        run_id: run.runId,
        expires_at: iso(expiresAt),
        websocket_path: `/ws/runs/${run.runId}`,
        protocol: streamProtocol,
      } as const);
    },
  ),
};
