import type { ModelAdapter } from '../../ports/models/models.ts';
import { cleanText, createTextCleaner, parseArguments, type TextCleaner } from './wire/plain-text.ts';
import { stateOf, StateParts } from './wire/provider-state.ts';
import type { ProviderState } from './prompt/prompt.ts';
import type { ProviderPart } from './wire/providers.ts';
import type { ModelEvent } from './step.ts';
import { calledName } from './wire/unnamed-call.ts';

type PartOf<T extends ProviderPart['type']> = Extract<ProviderPart, { type: T }>;
type TextKind = 'text' | 'refusal' | 'reasoning';

interface Block {
  readonly kind: TextKind;
  readonly index: number;
  readonly cleaner: TextCleaner;
}

interface OpenCall {
  readonly pos: number;
  readonly slug: string;
  readonly cleaner: TextCleaner;
}

/** Turns the parts of one answer into events, and collects what its end needs. Lives as long as the answer. */
export class ModelStream {
  /** Whether any readable part has arrived. */
  hasBegun = false;
  hasCalls = false;
  hasRefusal = false;
  /** All generated text, arguments and reasoning included. */
  outputText = '';
  /** All generated text except the reasoning. */
  spokenText = '';
  providerModel: string | null = null;
  responseId: string | null = null;
  readonly #reasoningKind: 'summary' | 'full';
  readonly #blocks = new Map<string, Block>();
  readonly #calls = new Map<string, OpenCall>();
  readonly #state = new StateParts();
  #nextIndex = 0;
  #announcedRefusal: string | null = null;

  constructor(adapter: ModelAdapter) {
    this.#reasoningKind = adapter === 'openai_compatible' ? 'full' : 'summary';
  }

  /** Appends the events of a part to `events`. Returns false for a part that is no sign of progress (pings, metadata). */
  take(part: ProviderPart, events: ModelEvent[]): boolean {
    if (part.type === 'stream-start' || part.type === 'ping') return false;
    if (part.type === 'raw') {
      this.#announcedRefusal = refusalIn(part.rawValue);
      return false;
    }

    this.hasBegun = true;
    switch (part.type) {
      case 'response-metadata':
        this.providerModel ??= part.modelId ?? null;
        this.responseId ??= part.id ?? null;
        return false;
      case 'text-delta':
        this.#text(part, events);
        return part.delta !== '';
      case 'text-end':
        this.#endText(part, events);
        return true;
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
        this.#reasoning(part, events);
        return true;
      case 'tool-input-start':
        this.#startCall(part.id, part.toolName, events);
        return true;
      case 'tool-input-delta':
        this.#argumentsChunk(part, events);
        return true;
      case 'tool-call':
        this.#call(part, events);
        return true;
      case 'source':
        events.push(this.#citation(part, null));
        return true;
      default:
        return true; // parts of tools that providers run themselves, which we never offer
    }
  }

  /** Closes blocks that the provider left open. */
  end(events: ModelEvent[]): void {
    for (const key of this.#blocks.keys()) this.#close(key, events);
  }

  state(modelId: string): ProviderState | null {
    return stateOf(modelId, this.#state.parts, this.hasCalls);
  }

  #text(part: PartOf<'text-delta'>, events: ModelEvent[]): void {
    const isRefusal = part.delta !== '' && part.delta === this.#announcedRefusal;
    this.hasRefusal ||= isRefusal;
    this.#write(isRefusal ? 'refusal' : 'text', part, events);
  }

  #endText(part: PartOf<'text-end'>, events: ModelEvent[]): void {
    this.#close(`text:${part.id}`, events);
    this.#close(`refusal:${part.id}`, events);
    for (const { source, citedText } of part.citations ?? []) events.push(this.#citation(source, citedText ?? null));
  }

  #reasoning(part: PartOf<'reasoning-start' | 'reasoning-delta' | 'reasoning-end'>, events: ModelEvent[]): void {
    if (part.type === 'reasoning-start') this.#state.openReasoning(part.id);
    this.#state.addReasoning(part.id, part.type === 'reasoning-delta' ? part.delta : '', part.providerMetadata);
    if (part.type === 'reasoning-delta') this.#write('reasoning', part, events);
    if (part.type === 'reasoning-end') this.#close(`reasoning:${part.id}`, events);
  }

  /** A block gets its index with its first character, so that empty blocks leave no gap. */
  #write(kind: TextKind, { id, delta }: { readonly id: string; readonly delta: string }, events: ModelEvent[]): void {
    if (delta === '') return;
    this.#generated(delta, kind !== 'reasoning');
    const key = `${kind}:${id}`;
    let block = this.#blocks.get(key);
    if (!block) {
      block = { kind, index: this.#nextIndex++, cleaner: createTextCleaner() };
      this.#blocks.set(key, block);
      if (kind !== 'reasoning') this.#state.addText();
    }

    const clean = block.cleaner.push(delta);
    if (clean !== '') events.push(this.#blockEvent(block, clean));
  }

  #close(key: string, events: ModelEvent[]): void {
    const block = this.#blocks.get(key);
    if (!block) return;
    this.#blocks.delete(key);
    const rest = block.cleaner.end();
    if (rest !== '') events.push(this.#blockEvent(block, rest));
  }

  #blockEvent({ kind, index }: Block, delta: string): ModelEvent {
    return kind === 'reasoning' ? { type: kind, index, delta, kind: this.#reasoningKind } : { type: kind, index, delta };
  }

  #generated(text: string, isSpoken: boolean): void {
    this.outputText += text;
    if (isSpoken) this.spokenText += text;
  }

  #startCall(id: string, name: string, events: ModelEvent[]): OpenCall {
    const call = { pos: this.#calls.size, slug: calledName(cleanText(name).slice(0, 200)), cleaner: createTextCleaner() };
    this.#calls.set(id, call);
    this.#generated(name, true);
    events.push({ type: 'tool_started', pos: call.pos, providerCallId: id, slug: call.slug });
    return call;
  }

  #argumentsChunk(part: PartOf<'tool-input-delta'>, events: ModelEvent[]): void {
    const call = this.#calls.get(part.id);
    this.#generated(part.delta, true);
    const delta = call?.cleaner.push(part.delta) ?? '';
    if (call && delta !== '') events.push({ type: 'tool_args', pos: call.pos, delta });
  }

  #call(part: PartOf<'tool-call'>, events: ModelEvent[]): void {
    const { pos, slug, cleaner } = this.#calls.get(part.toolCallId) ?? this.#startCall(part.toolCallId, part.toolName, events);
    const rest = cleaner.end();
    if (rest !== '') events.push({ type: 'tool_args', pos, delta: rest });
    this.hasCalls = true;
    this.#state.addCall(part.toolCallId, part.providerMetadata);
    events.push({
      type: 'tool_call',
      pos,
      providerCallId: part.toolCallId,
      slug,
      argsText: cleanText(part.input),
      args: parseArguments(part.input),
    });
  }

  #citation(source: PartOf<'source'>, quote: string | null): ModelEvent {
    const clean = (text: string | null | undefined) => (text ? cleanText(text) : null);

    return {
      type: 'citation',
      index: this.#nextIndex++,
      title: clean(source.title),
      quote: clean(quote),
      url: clean(source.sourceType === 'url' ? source.url : null),
    };
  }
}

/** Returns the refusal in a raw chunk of Chat Completions or Responses, which the SDK turns into text like any other; null without one. */
function refusalIn(raw: unknown): string | null {
  if (raw === null || typeof raw !== 'object') return null;
  if ('type' in raw) return raw.type === 'response.refusal.delta' && 'delta' in raw && typeof raw.delta === 'string' ? raw.delta : null;
  if (!('choices' in raw) || !Array.isArray(raw.choices)) return null;

  const refusal: unknown = raw.choices[0]?.delta?.refusal;
  return typeof refusal === 'string' && refusal !== '' ? refusal : null;
}
