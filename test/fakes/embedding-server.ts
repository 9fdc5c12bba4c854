import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request as the server got it. */
export interface EmbeddingCall {
  readonly headers: IncomingMessage['headers'];
  readonly body: { readonly model: string; readonly input: string[]; readonly dimensions?: number; readonly encoding_format?: string };
}

/** How the server answers one request: with vectors unless told otherwise. */
export type EmbeddingReply = (call: EmbeddingCall, response: ServerResponse) => boolean | Promise<boolean>;

/** A server that speaks OpenAI's `POST /embeddings`, outside of the deployment. */
export interface EmbeddingServer {
  readonly baseUrl: string;
  readonly calls: EmbeddingCall[];
  /** Answers the next requests in place of vectors; one that gives false lets vectors be sent. */
  reply: EmbeddingReply | null;
  close(): Promise<void>;
}

/** Vectors of `dim` numbers that differ from text to text and are not of length 1. Usage counts a token a word. */
export async function startEmbeddingServer(dim: number): Promise<EmbeddingServer> {
  const calls: EmbeddingCall[] = [];
  const server = createServer((request, response) => void answer(request, response));
  const fake: EmbeddingServer = { baseUrl: '', calls, reply: null, close: async () => void (server.closeAllConnections(), server.close()) };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk));
    const call: EmbeddingCall = { headers: request.headers, body: JSON.parse(Buffer.concat(chunks).toString('utf8')) };
    calls.push(call);
    if (await fake.reply?.(call, response)) return;
    const { input, model } = call.body;
    const data = input.map((text, index) => ({ object: 'embedding', index, embedding: numbersOf(text, dim) })).toReversed();
    const tokens = input.reduce((sum, text) => sum + text.split(' ').length, 0);
    send(response, 200, { object: 'list', model, data, usage: { prompt_tokens: tokens, total_tokens: tokens } });
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // a TCP server
  return Object.assign(fake, { baseUrl: `http://127.0.0.1:${port}/v1` });
}

/** Sends JSON with headers of its own. */
export function send(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): true {
  response.writeHead(status, { 'content-type': 'application/json', 'x-request-id': 'req_1', ...headers }).end(JSON.stringify(body));
  return true;
}

function numbersOf(text: string, dim: number): number[] {
  const seed = [...text].reduce((sum, char) => (sum * 31 + (char.codePointAt(0) ?? 0)) % 1_000_003, 7);
  return Array.from({ length: dim }, (_, at) => Math.sin(seed * (at + 1)) * 3);
}
