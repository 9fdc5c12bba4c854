import { createHash } from 'node:crypto';
import type { RawAnswer } from './model-raw.ts';

/** What the fake model does with one request. All but `fault` describes a good answer. */
export interface ScriptStep {
  readonly text?: string;
  /** Pieces of the text; without a text, as many words `t0 t1 …`. */
  readonly tokens?: number;
  readonly reasoning?: string;
  readonly refusal?: string;
  readonly tool_calls?: readonly { readonly id?: string; readonly name: string; readonly arguments: unknown }[];
  /** Silence before the first piece, and between pieces. */
  readonly first_token_ms?: number;
  readonly delay_ms?: number;
  readonly finish_reason?: string;
  /** The provider's own usage object; null leaves it out. */
  readonly usage?: Record<string, unknown> | null;
  /** What goes wrong, on every try; `faults` one a try, good afterwards (N failures, then success). Tries are counted by the content of the request: give each test its own words. */
  readonly fault?: Fault;
  /** A longer prompt is refused as too long for the model's context. */
  readonly limit_tokens?: number;
  readonly faults?: readonly Fault[];
  /** What becomes of the connection behind a whole answer: closed well unless given. */
  readonly afterwards?: RawAnswer['afterwards'];
  /** Instead of all this: bytes as they are. */
  readonly raw?: RawAnswer;
}

/** `after` counts pieces that are still sent. */
export type Fault =
  | { readonly kind: 'status'; readonly status: number; readonly headers?: Record<string, string>; readonly body?: unknown }
  | { readonly kind: 'refuse' }
  | { readonly kind: 'html' }
  | { readonly kind: 'reset'; readonly after?: number }
  | { readonly kind: 'hang'; readonly after?: number }
  /** Comments instead of an answer, for ever. */
  | { readonly kind: 'drip'; readonly after?: number; readonly interval_ms?: number }
  /** A frame that is no JSON, then the rest as if nothing had happened. */
  | { readonly kind: 'garbage'; readonly after?: number }
  | { readonly kind: 'no_finish'; readonly after?: number }
  /** An error inside the stream, then the rest as if nothing had happened. */
  | { readonly kind: 'error_frame'; readonly after?: number; readonly error?: Record<string, unknown> };

export interface Script {
  readonly steps: readonly ScriptStep[];
  /** Chooses the step by the last user message instead. */
  readonly choose?: (text: string) => ScriptStep;
}

/** One piece of an answer; each counts as one completion token. */
export type Beat =
  | { readonly kind: 'reasoning' | 'text' | 'refusal'; readonly delta: string }
  | { readonly kind: 'call_start'; readonly pos: number; readonly id: string; readonly name: string }
  | { readonly kind: 'call_args'; readonly pos: number; readonly delta: string };

/** A request of any of the three protocols, as far as a script needs it. */
export interface ScriptedRequest {
  readonly model: string;
  readonly isStream: boolean;
  readonly lastUserText: string;
  /** Assistant turns since the last user message. */
  readonly turn: number;
  /** Equal for a repeated request: tries are counted by it, ids are made from it. */
  readonly fingerprint: string;
  readonly promptTokens: number;
}

type Message = Record<string, unknown>;

/** Reads `messages` (Chat Completions, Messages) or `input` (Responses). */
export function readRequest(body: Record<string, unknown>): ScriptedRequest {
  const messages = ((body['messages'] ?? body['input'] ?? []) as Message[]).filter(
    (message) => message['role'] !== 'system' && message['role'] !== 'developer',
  ); // a request of our own product
  const lastUser = messages.findLastIndex((message) => message['role'] === 'user' && !isToolResult(message));
  const text = JSON.stringify(messages);

  return {
    model: String(body['model']),
    isStream: body['stream'] === true,
    lastUserText: textOf(messages[lastUser]?.['content']),
    turn: countTurns(messages.slice(lastUser + 1)),
    fingerprint: createHash('sha256')
      .update(`${String(body['model'])}\n${text}`)
      .digest('hex'),
    promptTokens: Math.ceil(Buffer.byteLength(text) / 4),
  };
}

function isToolResult(message: Message): boolean {
  return Array.isArray(message['content']) && message['content'].some((part: Message) => part['type'] === 'tool_result');
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;

  return Array.isArray(content) ? content.map((part: Message) => String(part['text'] ?? '')).join('\n') : '';
}

/** Items of one answer stand together: an answer begins where the item before it is not the assistant's. */
function countTurns(messages: readonly Message[]): number {
  const isAssistant = (message: Message | undefined) =>
    message?.['role'] === 'assistant' || message?.['type'] === 'function_call' || message?.['type'] === 'reasoning';

  return messages.filter((message, at) => isAssistant(message) && !isAssistant(messages[at - 1])).length;
}

/**
 * The script of a request: `<script>{…}</script>` or `[script:name]` in the last user message, else the one registered under
 * the model's name, else an echo.
 */
export function chooseScript(request: ScriptedRequest, scripts: ReadonlyMap<string, Script>): Script {
  const inline = /^[\s\S]*<script>([\s\S]*?)<\/script>/.exec(request.lastUserText)?.[1]; // the last one
  if (inline !== undefined) return JSON.parse(inline) as Script; // written by a test

  const name = /\[script:([\w.:-]+)\]/.exec(request.lastUserText)?.[1];
  const script = scripts.get(name ?? request.model);
  if (script) return script;
  if (name !== undefined) throw new Error(`no script is called ${name}`);
  return { steps: [{ text: `You said: ${request.lastUserText.slice(0, 1_000)}` }] };
}

export function stepOf(script: Script, { turn, lastUserText }: ScriptedRequest): ScriptStep {
  if (script.choose) return script.choose(lastUserText);
  return script.steps[Math.min(turn, script.steps.length - 1)] ?? { text: '' };
}

export function beatsOf(step: ScriptStep, fingerprint: string): Beat[] {
  const beats: Beat[] = [];
  for (const delta of piecesOf(step.reasoning ?? '')) beats.push({ kind: 'reasoning', delta });
  for (const delta of textPieces(step)) beats.push({ kind: 'text', delta });
  for (const delta of piecesOf(step.refusal ?? '')) beats.push({ kind: 'refusal', delta });

  (step.tool_calls ?? []).forEach((call, pos) => {
    const args = typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments);
    beats.push({ kind: 'call_start', pos, id: call.id ?? `call_${fingerprint.slice(0, 16)}_${pos}`, name: call.name });
    for (const delta of args.match(/[\s\S]{1,12}/g) ?? []) beats.push({ kind: 'call_args', pos, delta });
  });

  return beats;
}

function textPieces(step: ScriptStep): string[] {
  if (step.text === undefined) return Array.from({ length: step.tokens ?? 0 }, (_, at) => `t${at} `);
  if (step.tokens === undefined) return piecesOf(step.text);

  const size = Math.max(1, Math.ceil(step.text.length / step.tokens));
  return step.text.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? [];
}

function piecesOf(text: string): string[] {
  return text.match(/\S*\s*/g)?.filter((piece) => piece !== '') ?? [];
}
