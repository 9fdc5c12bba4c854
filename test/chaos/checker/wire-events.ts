import { events } from '../../support/stream-client.ts';
import { unlessSilent, type Wire } from './wire.ts';

/** One connection of a native event source: `Last-Event-ID` after the first. */
export const eventFrames: Wire = async function* ({ stack, process, runId, credential, last, signal }) {
  const headers: Record<string, string> = { authorization: `Bearer ${credential}`, accept: 'text/event-stream' };
  if (last !== null) headers['last-event-id'] = String(last);
  const silent = new AbortController();
  const answer = await fetch(`${stack.url(process)}/runs/${runId}/stream`, {
    headers,
    signal: AbortSignal.any([signal, silent.signal, AbortSignal.timeout(3_600_000)]),
  });
  if (answer.status !== 200 || !answer.body) return;

  for await (const event of unlessSilent(events(answer.body), () => silent.abort())) {
    if (event.id !== null && event.data !== null) yield event.data;
  }
};
