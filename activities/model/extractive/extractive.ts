import { setImmediate, setTimeout } from 'node:timers/promises';
import { ModelAborted } from '../errors/model-error.ts';
import { bestExcerpts, questionOf, stripMarkup, wholeIfShort, type Excerpt, type Source } from './excerpts.ts';
import { readPassages } from '../../../workflows/contracts/knowledge/passages.ts';
import { cleanText } from '../wire/plain-text.ts';
import { fillArguments } from './fill-arguments.ts';
import type { PromptAssistant, PromptBlock, PromptMessage, PromptToolResult } from '../prompt/prompt.ts';
import { sourceOfPassage, sourceOfResult } from './result-source.ts';
import type { ModelEvent, ModelFinish, ModelStepRequest } from '../step.ts';
import { countPrompt, estimateTokens, noUsage } from '../usage/usage.ts';

/** Why a deployment answers like this; part of every answer that has nothing to quote. */
const explanation =
  'This deployment runs without a language model: builtin/extractive only quotes what its read tools find. ' +
  'Name a URL that it may read, or set OPENAI_API_KEY, ANTHROPIC_API_KEY or LONGHAUL_MODEL_BASE_URL to use a model.';

/**
 * `builtin/extractive` is no language model: in the first step of a turn it calls once each read tool whose required arguments the user's words fill; then it
 * answers with the sentences of the results that share most words with the question, and names their sources. The same request always yields the same events.
 * Throws ModelAborted when the signal fires.
 */
export async function* streamExtractive(
  request: ModelStepRequest,
  options: { readonly paceMs: number },
): AsyncGenerator<ModelEvent, void, void> {
  const turn = lastTurn(request.messages);
  if (turn.calls.length === 0) {
    const calls = callEvents(request, turn);
    if (calls.length > 0) {
      yield* calls;
      yield finish(request, { stopReason: 'tool_calls', written: JSON.stringify(calls) });
      return;
    }
  }

  const answer = composeAnswer(request, turn);
  const { text, isTruncated } = bounded(answer.text, request);
  let written = '';
  for (const delta of chunksOf(text)) {
    await pause(options.paceMs, request, written);
    written += delta;
    yield { type: 'text', index: 0, delta };
  }
  yield* citations(answer.quoted, text === '' ? 0 : 1);
  yield finish(request, { stopReason: isTruncated ? 'max_output' : 'stop', written });
}

interface Turn {
  readonly number: number;
  readonly words: string;
  /** The text of files that came with the question, and passages of knowledge bases before it. */
  readonly files: readonly Source[];
  readonly calls: PromptAssistant['toolCalls'];
  readonly results: readonly PromptToolResult[];
}

function lastTurn(messages: readonly PromptMessage[]): Turn {
  const start = messages.findLastIndex((message) => message.role === 'user');
  const question = messages[start];
  const since = messages.slice(start + 1);

  return {
    number: messages.filter((message) => message.role === 'user').length,
    words: question?.role === 'user' ? spoken(question.content) : '',
    files: question?.role === 'user' ? [...question.content.flatMap(sourceOfFile), ...injected(messages[start - 1])] : [],
    calls: since.flatMap((message) => (message.role === 'assistant' ? message.toolCalls : [])),
    results: since.filter((message) => message.role === 'tool'),
  };
}

function spoken(content: readonly PromptBlock[]): string {
  return content
    .flatMap((block) => {
      if (block.type === 'text') return [block.text];
      return block.type === 'json' ? stringsIn(block.value) : [];
    })
    .join('\n');
}

function sourceOfFile(block: PromptBlock): Source[] {
  return block.type === 'file_text' ? [{ title: block.name, url: null, text: block.text }] : [];
}

function injected(before: PromptMessage | undefined): Source[] {
  return before?.role === 'user' ? readPassages(spoken(before.content)).map(sourceOfPassage) : [];
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (value === null || typeof value !== 'object') return [];

  return Object.values(value).flatMap(stringsIn);
}

function callEvents(request: ModelStepRequest, turn: Turn): ModelEvent[] {
  const filled = request.tools
    .filter((tool) => tool.effect === 'read')
    .flatMap((tool) => {
      const args = fillArguments(tool, turn.words);
      return args === null ? [] : [{ slug: tool.slug, args }];
    });

  return filled.flatMap(({ slug, args }, pos): ModelEvent[] => {
    const providerCallId = `call_${turn.number}_${pos}`;
    const argsText = JSON.stringify(args);
    return [
      { type: 'tool_started', pos, providerCallId, slug },
      { type: 'tool_args', pos, delta: argsText },
      { type: 'tool_call', pos, providerCallId, slug, argsText, args },
    ];
  });
}

interface Answer {
  readonly text: string;
  readonly quoted: readonly Excerpt[];
}

function composeAnswer(request: ModelStepRequest, turn: Turn): Answer {
  const read = [
    ...turn.files,
    ...turn.results.filter((result) => result.status === 'succeeded').flatMap((result) => sourceOfResult(result, argsOf(turn, result))),
  ];
  const failures = turn.results
    .filter((result) => result.status !== 'succeeded')
    .map((result) => `${result.slug}: ${result.error?.message ?? result.status}`);
  // A question about something that could not be read is not answered from something else.
  const best = read.length > 0 ? bestExcerpts(turn.words, read) : failures.length > 0 ? [] : fromMemory(request, turn);
  const quoted = best.length > 0 ? best : wholeIfShort(read);

  const notes = failures.map((failure) => `Could not be read: ${stripMarkup(failure).slice(0, 300)}`);
  if (quoted.length > 0) return { text: [quotes(quoted), ...notes].join('\n\n'), quoted };

  const places = read.map((source) => nameOf(source)).join(', ');
  const nothing = read.length > 0 ? `Nothing in what was read (${places}) shares a word with the question.` : '';
  return { text: [nothing, ...notes, explanation].filter((line) => line !== '').join('\n\n'), quoted: [] };
}

function argsOf(turn: Turn, result: PromptToolResult): Record<string, unknown> {
  return turn.calls.find((call) => call.id === result.toolCallId)?.args ?? {};
}

/** Without a result in this turn, quotes earlier results and the instructions, if they contain most of the question's words. */
function fromMemory(request: ModelStepRequest, turn: Turn): Excerpt[] {
  if (questionOf(turn.words).terms.size === 0) return [];
  const earlier = request.messages.flatMap((message) =>
    message.role === 'tool' && message.status === 'succeeded' ? sourceOfResult(message, {}) : [],
  );
  const instructions: Source = { title: 'instructions of the agent', url: null, text: request.instructions };

  return bestExcerpts(turn.words, [...earlier, instructions]).filter((excerpt) => excerpt.share >= 0.6);
}

/** Returns the quoted passages, followed by their sources. */
function quotes(quoted: readonly Excerpt[]): string {
  const places = [...new Set(quoted.map(({ source }) => source))].map((source) =>
    source.url && source.title ? `${source.title} (${source.url})` : nameOf(source),
  );
  const label = places.length === 1 ? 'Source' : 'Sources';

  return `${quoted.map(({ text }) => text).join('\n')}\n\n${label}: ${places.join('; ')}`;
}

function nameOf(source: Source): string {
  return source.url ?? source.title ?? 'tool result';
}

function citations(quoted: readonly Excerpt[], firstIndex: number): ModelEvent[] {
  return quoted.map(({ text, source }, at) => ({
    type: 'citation',
    index: firstIndex + at,
    title: source.title,
    quote: text,
    url: source.url,
    ...(source.itemId === undefined ? {} : { itemId: source.itemId }),
  }));
}

function bounded(answer: string, request: ModelStepRequest): { text: string; isTruncated: boolean } {
  const text = cleanText(answer);
  const ends = request.settings.stop.map((stop) => text.indexOf(stop)).filter((at) => at >= 0);
  const stopped = ends.length > 0 ? text.slice(0, Math.min(...ends)) : text;
  const limit = request.maxOutputTokens ?? request.model.maxOutputTokens;
  if (limit === null || estimateTokens(stopped) <= limit) return { text: stopped, isTruncated: false };

  return {
    text: cleanText(
      Buffer.from(stopped)
        .subarray(0, limit * 4)
        .toString('utf8'),
    ),
    isTruncated: true,
  };
}

/** Splits a text into one to three words at a time, each with the space that follows. */
function chunksOf(text: string): string[] {
  const result: string[] = [];
  for (const word of text.match(/\s*\S+\s*/g) ?? []) {
    const last = result.at(-1);
    if (last !== undefined && last.length + word.length <= 14) result[result.length - 1] = last + word;
    else result.push(word);
  }

  return result;
}

async function pause(paceMs: number, request: ModelStepRequest, written: string): Promise<void> {
  try {
    await (paceMs > 0 ? setTimeout(paceMs, undefined, { signal: request.signal }) : setImmediate(undefined, { signal: request.signal }));
  } catch {
    throw new ModelAborted(usageOf(request, written), request.signal.reason);
  }
}

function usageOf(request: ModelStepRequest, written: string) {
  return { ...noUsage, input: countPrompt(request), output: estimateTokens(written) };
}

function finish(request: ModelStepRequest, end: { readonly stopReason: ModelFinish['stopReason']; readonly written: string }): ModelFinish {
  return {
    type: 'finish',
    stopReason: end.stopReason,
    usage: usageOf(request, end.written),
    providerRequestId: null,
    providerModel: request.model.name,
    providerState: null,
  };
}
