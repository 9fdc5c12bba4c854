import { WebSocket } from 'ws';
import { unlessSilent, type Wire } from './wire.ts';

/** One WebSocket: a token of its own, `after_seq` after the first. */
export const socketFrames: Wire = async function* ({ stack, process, runId, credential, last, signal }) {
  const answer = await fetch(`${stack.url(process)}/runs/${runId}/stream-token`, {
    method: 'POST',
    headers: { authorization: `Bearer ${credential}` },
    signal: AbortSignal.any([signal, AbortSignal.timeout(20_000)]),
  });
  if (!answer.ok) return;
  const { token } = (await answer.json()) as { token: string }; // StreamTokenView

  const socket = new WebSocket(`${stack.url(process).replace('http', 'ws')}/ws/runs/${runId}`, { handshakeTimeout: 10_000 });
  const ended = new AbortController();
  const leave = () => socket.terminate();
  socket.on('error', () => undefined);
  socket.on('close', () => ended.abort());
  socket.on('open', () => socket.send(JSON.stringify({ type: 'auth', token, after_seq: last ?? 0, replay: true })));
  signal.addEventListener('abort', leave);
  try {
    for await (const text of unlessSilent(messagesOf(socket, ended.signal), leave)) yield text;
  } finally {
    signal.removeEventListener('abort', leave);
    leave();
  }
};

/** Texts of frames, without notices, until the socket is closed; those that came before the close are all given. */
async function* messagesOf(socket: WebSocket, closed: AbortSignal): AsyncGenerator<string> {
  const waiting: string[] = [];
  let wake: (() => void) | null = null;
  const look = () => wake?.();
  socket.on('message', (message: Buffer) => {
    waiting.push(String(message));
    look();
  });
  closed.addEventListener('abort', look);
  for (;;) {
    for (let text = waiting.shift(); text !== undefined; text = waiting.shift()) if (!text.startsWith('{"v":2,"seq":null')) yield text;
    if (closed.aborted) return;
    await new Promise<void>((resolve) => (wake = resolve));
    wake = null;
  }
}
