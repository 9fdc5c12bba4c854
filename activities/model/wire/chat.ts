import { exactText, tagInexact, withoutTag } from '../../../workflows/contracts/tools/exact-json.ts';
import { bareError, isReported, parsedJson, record, wordsIn, type ProviderMessage } from './provider-message.ts';
import { isNamed, unnamedCall } from './unnamed-call.ts';
import type { WireEvent, WireProtocol } from './wire.ts';

type Fields = Readonly<Record<string, unknown>>;

const nothing = { data: null, state: 'open', error: null } as const;

/**
 * Chat Completions as servers really speak it, made into the chunks that the SDK's schema accepts: liberal in what it reads, strict in what it returns.
 * `docs/model-providers.md` lists the shapes. Lives as long as one answer.
 */
export class ChatWire implements WireProtocol {
  readonly warnings: string[] = [];
  #hasOutput = false;
  #hasCalls = false;
  #isFinished = false;
  #usage: Counts | undefined;
  readonly #calls = new CallNames();

  read(data: string, event?: string): WireEvent {
    const text = data.trim();
    if (text === '[DONE]') return this.#done();
    const value = parsedJson(tagInexact(text, 'all'));
    if (value === undefined) {
      if (this.#isFinished) return { ...nothing, state: 'finished' };
      return event === 'error' ? { ...nothing, error: { status: null, code: null, message: text } } : { ...nothing, data: text };
    }
    return this.#take(value, event);
  }

  /** A complete answer at once, from a server that does not stream. */
  whole(value: unknown): WireEvent {
    const taken = this.#take(value, undefined);
    if (taken.error !== null || taken.data === null || !this.#hasOutput) return taken;
    this.warnings.push('the server ignores `stream` and gave the answer in one piece');
    if (this.#isFinished) return { ...taken, state: 'ended' };
    this.#isFinished = true;
    return { ...taken, more: [...(this.#named().more ?? []), this.#finishChunk()], state: 'ended' };
  }

  #take(value: unknown, event: string | undefined): WireEvent {
    const error = errorIn(value, event);
    if (error !== null) return this.#isFinished ? { ...nothing, state: 'finished' } : { ...nothing, error };
    const chunk = record(value);
    if (!chunk) return nothing;

    const choice = this.#choiceOf(record(list(chunk['choices'])[0]));
    const usage = [chunk['usage'], record(chunk['x_groq'])?.['usage'], record(list(chunk['choices'])[0])?.['usage']]
      .map(numbersIn)
      .find(Boolean);
    if (usage) this.#usage = together(this.#usage, usage);
    if (choice === null && !usage) return { ...nothing, state: this.#isFinished ? 'finished' : 'open' };
    const clean = {
      id: textOf(chunk['id']),
      created: numberOf(chunk['created']),
      model: textOf(chunk['model']),
      choices: choice === null ? [] : [choice],
      usage: usage && this.#usage,
    };
    return { data: exactText(clean), ...this.#named(), state: this.#isFinished ? 'finished' : 'open', error: null };
  }

  /** Returns null for a choice without content. The first finish reason counts; a later or an empty one is ignored. */
  #choiceOf(choice: Fields | null): object | null {
    const delta = deltaOf(record(choice?.['delta']) ?? record(choice?.['message']) ?? { content: choice?.['text'] }, this.#calls);
    const told = choice?.['finish_reason'];
    const reason = !this.#isFinished && typeof told === 'string' && told.trim() !== '' && told !== 'null' ? told : null;
    this.#isFinished ||= reason !== null;
    this.#hasCalls ||= delta.tool_calls !== undefined;
    this.#hasOutput ||= this.#hasCalls || delta.content !== undefined;
    return reason === null && Object.values(delta).every((part) => part === undefined) ? null : { index: 0, delta, finish_reason: reason };
  }

  #done(): WireEvent {
    if (this.#isFinished || !this.#hasOutput) return { ...nothing, state: 'ended' };
    this.warnings.push('the server ended its stream without a finish reason');
    this.#isFinished = true;
    return { data: this.#finishChunk(), ...this.#named(), state: 'ended', error: null };
  }

  /** Once the answer is complete, names each call that never had a name, so that the SDK emits it and the model learns of it. */
  #named(): { more?: readonly string[] } {
    const unnamed = this.#isFinished ? this.#calls.takeUnnamed() : [];
    if (unnamed.length === 0) return {};
    const tool_calls = unnamed.map((index) => ({ index, function: { name: unnamedCall, arguments: '' } }));
    return { more: [JSON.stringify({ choices: [{ index: 0, delta: { tool_calls }, finish_reason: null }] })] };
  }

  #finishChunk(): string {
    return JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: this.#hasCalls ? 'tool_calls' : 'stop' }] });
  }
}

/** Returns an error in a chunk, wherever it is. A chunk with neither error nor choice (a ping, a moderation result) has none. */
function errorIn(value: unknown, event: string | undefined): ProviderMessage | null {
  const chunk = record(value);
  const choice = record(list(chunk?.['choices'])[0]);
  if (isReported(choice?.['error'])) return wordsIn(choice?.['error']) ?? unreported;
  if (Array.isArray(chunk?.['choices']) && !isReported(chunk['error'])) return null;
  return event === 'error' || chunk?.['type'] === 'error' ? (wordsIn(value) ?? unreported) : bareError(value);
}

const unreported: ProviderMessage = { status: null, code: null, message: '' };

/** Returns the parts of a delta that the SDK reads. The role is always the assistant's, whatever the server calls it. */
function deltaOf(delta: Fields, names: CallNames) {
  const calls = [...list(delta['tool_calls']), ...legacyCall(delta['function_call'])].flatMap((call) => callOf(call, names));
  return {
    content: contentOf(delta['content']),
    reasoning_content: [delta['reasoning_content'], delta['reasoning'], delta['thinking']].map(proseOf).find(Boolean),
    refusal: textOrNothing(delta['refusal']),
    tool_calls: calls.length > 0 ? calls : undefined,
  };
}

function contentOf(content: unknown): string | object[] | undefined {
  if (!Array.isArray(content)) return proseOf(content);
  const parts = content.flatMap((part) => {
    if (typeof part === 'string') return [{ type: 'text', text: part }];
    const object = record(part);
    return object && typeof object['type'] === 'string' ? [object] : [];
  });
  return parts.length > 0 ? parts : undefined;
}

/** Returns a text, or the text inside an object or a list of objects. */
function proseOf(value: unknown): string | undefined {
  if (Array.isArray(value)) return textOrNothing(value.map((part) => proseOf(part) ?? '').join(''));
  const object = record(value);
  if (object) return [object['text'], object['content'], object['summary']].map(proseOf).find(Boolean);
  return typeof value === 'number' ? String(value) : textOrNothing(value);
}

function callOf(value: unknown, names: CallNames): object[] {
  const call = record(value);
  const called = record(call?.['function']) ?? call;
  if (!call || !called) return [];
  const args = called['arguments'] ?? called['parameters'];
  const isWritten = args === undefined || args === null || typeof args === 'string';
  const [index, id] = [numberOf(call['index']), textOf(call['id'])];
  if (id === undefined && typeof called['name'] !== 'string' && (args ?? undefined) === undefined) return []; // carries nothing
  const name = names.nameOf({ index, id, name: isNamed(called['name']) ? called['name'] : undefined });
  return [
    {
      index,
      id,
      function: { name, arguments: isWritten ? args : exactText(args) },
      extra_content: record(call['extra_content']) ?? undefined,
    },
  ];
}

/** Tracks which calls of an answer have a name: the SDK accepts none without. */
class CallNames {
  readonly #named = new Set<number | string>();
  readonly #unnamed = new Set<number>();

  /** Returns the name to pass on with a delta; undefined where the delta continues a call, or its name may still come. */
  nameOf({ index, id, name }: { readonly index: number | undefined; readonly id: string | undefined; readonly name: string | undefined }) {
    const isKnown = index === undefined ? this.#isOpen(id) : this.#named.has(index);
    if (name === undefined && isKnown) return undefined;
    if (name === undefined && index !== undefined) {
      this.#unnamed.add(index);
      return undefined;
    }
    if (index !== undefined) this.#unnamed.delete(index);
    for (const key of [index, id ?? noId]) if (key !== undefined) this.#named.add(key);
    return name ?? unnamedCall;
  }

  /** Returns, once, the positions of the calls whose name never came. */
  takeUnnamed(): readonly number[] {
    const unnamed = [...this.#unnamed];
    this.#unnamed.clear();
    return unnamed;
  }

  #isOpen(id: string | undefined): boolean {
    return id === undefined ? this.#named.size > 0 : this.#named.has(id);
  }
}

const noId = '';

/** Returns the one call of servers that speak the older `function_call`. */
function legacyCall(call: unknown): unknown[] {
  const called = record(call);
  return called ? [{ index: 0, function: called }] : [];
}

/** Returns a list; a single object becomes a list of one (TGI). */
function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : record(value) ? [value] : [];
}

interface Counts {
  readonly [name: string]: number | Counts;
}

/** Merges counts: a usage may come in parts, or again as zeros. Newer counts win, but a zero overwrites nothing. */
function together(before: Counts | undefined, told: Counts): Counts {
  const merged = Object.entries(told).map(([name, count]) => {
    const known = before?.[name];
    if (typeof count === 'object') return [name, together(typeof known === 'object' ? known : undefined, count)] as const;
    return [name, count === 0 ? (known ?? 0) : count] as const;
  });
  return { ...before, ...Object.fromEntries(merged) };
}

/** Returns the numbers of a usage, also those that came as text; undefined when there is none. */
function numbersIn(value: unknown): Counts | undefined {
  const usage = record(value);
  if (!usage) return undefined;
  const known = Object.entries(usage).flatMap(([key, part]) => {
    const told = record(part) ? numbersIn(part) : numberOf(part);
    return told === undefined ? [] : [[key, told] as const];
  });
  return known.length > 0 ? Object.fromEntries(known) : undefined;
}

function numberOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'number' ? String(value) : textOrNothing(value);
}

function textOrNothing(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? withoutTag(value) : undefined;
}
