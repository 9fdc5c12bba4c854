import type { ModelAdapter } from '../../ports/models.ts';
import { cleanText, createTextCleaner, parseArguments, type TextCleaner } from './plain-text.ts';
import type { ProviderState, ProviderStatePart } from './prompt.ts';
import type { ProviderOptions, ProviderPart } from './providers.ts';
import type { ModelEvent } from './step.ts';

/** Turns the parts of one answer into events, and remembers what the end of it needs. */
export interface Relay {
  /** Adds the events of a part to `events`; false for a part that is no sign of progress (pings, metadata). */
  take(part: ProviderPart, events: ModelEvent[]): boolean;
  /** Closes blocks that the provider left open. */
  end(events: ModelEvent[]): void;
  readonly hasBegun: boolean;
  readonly hasCalls: boolean;
  readonly hasRefusal: boolean;
  /** Everything that was generated, arguments and reasoning included. */
  readonly outputText: string;
  readonly providerModel: string | null;
  readonly responseId: string | null;
  state(modelId: string): ProviderState | null;
}

interface Block {
  readonly index: number;
  readonly cleaner: TextCleaner;
}

interface OpenCall {
  readonly pos: number;
  readonly slug: string;
  readonly cleaner: TextCleaner;
}

type TextKind = 'text' | 'refusal' | 'reasoning';

export function createRelay(adapter: ModelAdapter): Relay {
  const blocks = new Map<string, Block>();
  const calls = new Map<string, OpenCall>();
  const stateParts: ProviderStatePart[] = [];
  const reasoningKind = adapter === 'openai_compatible' ? 'full' : 'summary';
  let nextIndex = 0;
  let hasBegun = false;
  let hasCalls = false;
  let hasRefusal = false;
  let outputText = '';
  let announcedRefusal: string | null = null;
  let providerModel: string | null = null;
  let responseId: string | null = null;

  function blockEvent(kind: TextKind, index: number, delta: string): ModelEvent {
    return kind === 'reasoning' ? { type: kind, index, delta, kind: reasoningKind } : { type: kind, index, delta };
  }

  /** A block takes its index with its first character, so that empty blocks leave no hole. */
  function write(kind: TextKind, id: string, piece: string, events: ModelEvent[]): void {
    if (piece === '') return;
    outputText += piece;
    const key = `${kind}:${id}`;
    let block = blocks.get(key);
    if (!block) {
      block = { index: nextIndex++, cleaner: createTextCleaner() };
      blocks.set(key, block);
      if (kind !== 'reasoning') stateParts.push({ type: 'text', options: null });
    }

    const delta = block.cleaner.push(piece);
    if (delta !== '') events.push(blockEvent(kind, block.index, delta));
  }

  function close(kind: TextKind, id: string, events: ModelEvent[]): void {
    const key = `${kind}:${id}`;
    const block = blocks.get(key);
    if (!block) return;
    blocks.delete(key);
    const rest = block.cleaner.end();
    if (rest !== '') events.push(blockEvent(kind, block.index, rest));
  }

  function start(id: string, slug: string, events: ModelEvent[]): OpenCall {
    const call = { pos: calls.size, slug: cleanText(slug).slice(0, 200), cleaner: createTextCleaner() };
    calls.set(id, call);
    outputText += slug;
    events.push({ type: 'tool_started', pos: call.pos, providerCallId: id, slug: call.slug });
    return call;
  }

  function reasoningState(id: string, text: string, options: ProviderOptions | undefined): void {
    const open = openReasoning.get(id);
    if (!open) return;
    open.text += text;
    for (const [provider, values] of Object.entries(options ?? {})) open.options[provider] = { ...open.options[provider], ...values };
  }

  const openReasoning = new Map<string, { type: 'reasoning'; text: string; options: ProviderOptions }>();

  function take(part: ProviderPart, events: ModelEvent[]): boolean {
    switch (part.type) {
      case 'stream-start':
      case 'ping':
        return false;
      case 'raw':
        announcedRefusal = refusalIn(part.rawValue);
        return false;
      case 'response-metadata':
        hasBegun = true;
        providerModel ??= part.modelId ?? null;
        responseId ??= part.id ?? null;
        return false;
      case 'text-delta': {
        hasBegun = true;
        const isRefusal = part.delta !== '' && part.delta === announcedRefusal;
        hasRefusal ||= isRefusal;
        write(isRefusal ? 'refusal' : 'text', part.id, part.delta, events);
        return part.delta !== '';
      }
      case 'text-end':
        close('text', part.id, events);
        close('refusal', part.id, events);
        for (const { source, citedText } of part.citations ?? []) events.push(citation(source, citedText ?? null));
        return true;
      case 'reasoning-start': {
        hasBegun = true;
        const open = { type: 'reasoning' as const, text: '', options: {} };
        openReasoning.set(part.id, open);
        stateParts.push(open);
        reasoningState(part.id, '', part.providerMetadata);
        return true;
      }
      case 'reasoning-delta':
        hasBegun = true;
        reasoningState(part.id, part.delta, part.providerMetadata);
        write('reasoning', part.id, part.delta, events);
        return true;
      case 'reasoning-end':
        reasoningState(part.id, '', part.providerMetadata);
        close('reasoning', part.id, events);
        return true;
      case 'tool-input-start':
        hasBegun = true;
        start(part.id, part.toolName, events);
        return true;
      case 'tool-input-delta': {
        const call = calls.get(part.id);
        outputText += part.delta;
        const delta = call?.cleaner.push(part.delta) ?? '';
        if (call && delta !== '') events.push({ type: 'tool_args', pos: call.pos, delta });
        return true;
      }
      case 'tool-call': {
        hasBegun = true;
        hasCalls = true;
        const call = calls.get(part.toolCallId) ?? start(part.toolCallId, part.toolName, events);
        const rest = call.cleaner.end();
        if (rest !== '') events.push({ type: 'tool_args', pos: call.pos, delta: rest });
        stateParts.push({ type: 'call', id: part.toolCallId, options: part.providerMetadata ?? null });
        events.push({ type: 'tool_call', pos: call.pos, providerCallId: part.toolCallId, slug: call.slug, argsText: cleanText(part.input), args: parseArguments(part.input) });
        return true;
      }
      case 'source':
        hasBegun = true;
        events.push(citation(part, null));
        return true;
      default:
        return true; // parts of tools that providers run themselves, which we never offer
    }
  }

  function citation(source: Extract<ProviderPart, { type: 'source' }>, quote: string | null): ModelEvent {
    return { type: 'citation', index: nextIndex++, title: source.title ? cleanText(source.title) : null, quote: quote === null ? null : cleanText(quote), url: source.sourceType === 'url' ? cleanText(source.url) : null };
  }

  return {
    take,
    end(events) {
      for (const [key, block] of blocks) {
        const rest = block.cleaner.end();
        const kind = key.slice(0, key.indexOf(':')) as TextKind; // keys are made from a TextKind above
        if (rest !== '') events.push(blockEvent(kind, block.index, rest));
      }
      blocks.clear();
    },
    get hasBegun() {
      return hasBegun;
    },
    get hasCalls() {
      return hasCalls;
    },
    get hasRefusal() {
      return hasRefusal;
    },
    get outputText() {
      return outputText;
    },
    get providerModel() {
      return providerModel;
    },
    get responseId() {
      return responseId;
    },
    state: (modelId) => stateOf(modelId, stateParts, hasCalls),
  };
}

/** The refusal that a raw chunk of Chat Completions or Responses holds: the SDK turns it into text like any other. */
function refusalIn(raw: unknown): string | null {
  if (raw === null || typeof raw !== 'object') return null;
  if ('type' in raw) return raw.type === 'response.refusal.delta' && 'delta' in raw && typeof raw.delta === 'string' ? raw.delta : null;
  if (!('choices' in raw) || !Array.isArray(raw.choices)) return null;

  const refusal: unknown = raw.choices[0]?.delta?.refusal;
  return typeof refusal === 'string' && refusal !== '' ? refusal : null;
}

/** Only what a provider needs back: something it signed, or the reasoning that led to calls. */
function stateOf(model: string, parts: readonly ProviderStatePart[], hasCalls: boolean): ProviderState | null {
  const plain = parts.map((part) => (part.options === null || Object.keys(part.options).length === 0 ? { ...part, options: null } : part));
  const isSigned = plain.some((part) => part.options !== null && part.type !== 'text');
  const isReasoned = hasCalls && plain.some((part) => part.type === 'reasoning' && part.text !== '');
  if (!isSigned && !isReasoned) return null;

  return { model, parts: plain };
}
