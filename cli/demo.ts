import type { BootstrapAccess } from './bootstrap.ts';
import { SetupError } from './setup-error.ts';

export interface DemoOptions {
  /** The question for the first agent; by default one that the deployment's own reference answers. */
  readonly question: string | undefined;
  /** Where this process and the agent's tools reach the API, if not at its public address. */
  readonly internalUrl?: string | undefined;
  readonly log: (line: string) => void;
}

interface ShownFrame {
  readonly seq: number;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Starts a run of the first agent and prints its frames as they stream in. Throws when the API refuses or the stream breaks. */
export async function runDemo(
  access: BootstrapAccess,
  { question, internalUrl, log }: DemoOptions,
): Promise<{ run_id: string; status: string }> {
  const baseUrl = internalUrl || access.base_url;
  const text = question ?? `Read ${baseUrl}/llms.txt and tell me: which operation starts a run?`;
  const headers = { 'authorization': `Bearer ${access.service_key}`, 'content-type': 'application/json' };
  log(`\nA first run. Question: ${text}\n`);
  const body = JSON.stringify({ agent_id: access.agent_id, input: { text } });
  const started = await fetch(`${baseUrl}/runs`, { method: 'POST', headers, body }).catch(() => {
    throw new SetupError(`No API answers at ${baseUrl}. Start the processes first.`);
  });
  if (started.status !== 202) throw new Error(`POST /runs answered ${started.status}: ${await started.text()}`);
  const { id } = (await started.json()) as { id: string }; // RunView

  const stream = await fetch(`${baseUrl}/runs/${id}/stream`, { headers });
  if (stream.status !== 200 || stream.body === null) throw new Error(`the stream answered ${stream.status}`);
  let status = 'unknown';
  for await (const frame of framesOf(stream.body)) {
    log(lineOf(frame));
    if (frame.type === 'run.finished') status = String(frame.data['status']);
  }
  return { run_id: id, status };
}

async function* framesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<ShownFrame> {
  const decoder = new TextDecoder();
  let pending = '';
  for await (const part of body) {
    pending += decoder.decode(part, { stream: true });
    for (let end = pending.indexOf('\n\n'); end >= 0; end = pending.indexOf('\n\n')) {
      const line = pending
        .slice(0, end)
        .split('\n')
        .find((one) => one.startsWith('data: '));
      pending = pending.slice(end + 2);
      if (line !== undefined) yield JSON.parse(line.slice(6)) as ShownFrame; // an envelope of the stream protocol
    }
  }
}

function lineOf({ seq, type, data }: ShownFrame): string {
  const shown = shownData(type, data);
  return `  ${String(seq).padStart(3)}  ${type.padEnd(18)} ${shown.replaceAll(/\s+/g, ' ').slice(0, 160)}`;
}

function shownData(type: string, data: ShownFrame['data']): string {
  switch (type) {
    case 'run.started':
      return `agent ${String(data['agent_id'])}`;
    case 'run.status':
      return String(data['status']);
    case 'message.delta':
    case 'reasoning.delta':
      return JSON.stringify(data['delta']);
    case 'message.completed':
      return `${String(data['role'])}: ${textOf(data['content'])}`;
    case 'tool.call':
      return `${String(data['slug'])} ${String(data['phase'])} ${data['args'] === undefined ? '' : JSON.stringify(data['args'])}`;
    case 'tool.result':
      return `${String(data['status'])}, ${String(data['total_chars'] ?? 0)} characters`;
    case 'run.finished':
      return `${String(data['status'])} (${String(data['finish_reason'])})`;
    default:
      return JSON.stringify(data);
  }
}

function textOf(content: unknown): string {
  if (!Array.isArray(content)) return '';
  return content.map((block: { text?: string }) => block.text ?? '').join(' ');
}
