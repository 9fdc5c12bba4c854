import { expect, test } from '@jest/globals';
import { fitHistory, type ContextBudget } from '../../../activities/model/prompt/context.ts';
import type { ContextRules } from '../../../db/agents/revisions/revision-document.ts';
import type { HistoryMessage } from '../../../db/runs/read/history.ts';

const message = (role: HistoryMessage['role'], text: string, more: Partial<HistoryMessage> = {}): HistoryMessage => ({
  id: crypto.randomUUID(),
  role,
  origin: role === 'user' ? 'user' : 'model',
  turn: 1,
  isOwn: false,
  content: [{ type: 'text', text }],
  providerState: null,
  calls: [],
  answers: null,
  ...more,
});
/** Turns of about 500 tokens, then the run's own question. */
const conversation = (turns: number) => [
  ...Array.from({ length: turns }, (_, turn) => [
    message('user', `question ${turn} ${'q'.repeat(980)}`, { turn }),
    message('assistant', `answer ${turn} ${'a'.repeat(980)}`, { turn }),
  ]).flat(),
  message('user', 'now', { turn: turns, isOwn: true }),
];
const room = (on_overflow: ContextRules['on_overflow'], maxTokens: number, more: Partial<ContextBudget> = {}): ContextBudget => ({
  rules: { max_input_tokens: null, keep_last_turns: 20, on_overflow },
  maxTokens,
  windowTokens: maxTokens,
  takenTokens: 0,
  wasTooLong: false,
  refusal: null,
  reader: null,
  ...more,
});
const textsOf = (history: readonly HistoryMessage[]) => history.map(({ content }) => (content[0]?.type === 'text' ? content[0].text : ''));

test('what fits is left as it is', () => {
  const history = conversation(3);

  expect(fitHistory(history, room('fail', 5_000))).toBe(history);
});

test('drop_oldest leaves whole old turns out, and never the run’s own', () => {
  const texts = textsOf(fitHistory(conversation(10), room('drop_oldest', 2_700)));

  expect(texts.map((text) => text.split(' ').slice(0, 2).join(' '))).toEqual([
    'question 7',
    'answer 7',
    'question 8',
    'answer 8',
    'question 9',
    'answer 9',
    'now',
  ]);
});

test('summarize shortens old turns to question and answer, the newest of them', () => {
  const [first = '', ...rest] = textsOf(fitHistory(conversation(10), room('summarize', 2_700)));

  expect(first).toMatch(/^\[Earlier in this conversation, shortened\]/);
  expect(first).toContain('question 7');
  expect(first).not.toContain('question 0');
  expect(first.length).toBeLessThan(2_200);
  expect(rest.map((text) => text.split(' ').slice(0, 2).join(' '))).toEqual(['question 8', 'answer 8', 'question 9', 'answer 9', 'now']);
});

test('fail ends the run with a reason of its own', () => {
  expect(() => fitHistory(conversation(10), room('fail', 100))).toThrow(
    expect.objectContaining({ type: 'validation_failed', details: [expect.objectContaining({ reason: 'context_too_long' })] }),
  );
});

test('a prompt that the provider found too long is cut to less than half', () => {
  const history = conversation(10);
  const size = (list: readonly HistoryMessage[]) => JSON.stringify(list.map(({ content }) => content)).length;

  const fitted = fitHistory(history, room('drop_oldest', Infinity, { wasTooLong: true }));

  expect(size(fitted)).toBeLessThan(size(history) / 2);
});

const answers = (n: number) => ({
  tool_call_id: `id${n}`,
  provider_call_id: `c${n}`,
  slug: 's',
  args: {},
  state: 'succeeded',
  error: null,
  truncated: true,
  total_chars: 9,
});
/** A step of the run itself: one call and its result. */
const step = (n: number, result = `result ${n} ${'r'.repeat(4_000)}`) => [
  message('assistant', '', {
    isOwn: true,
    turn: 5,
    calls: [{ tool_call_id: `id${n}`, provider_call_id: `c${n}`, slug: 's', args: {} }],
  }),
  message('tool', result, { isOwn: true, turn: 5, answers: answers(n) }),
];

test('a run whose own results take too much loses the oldest of them, and calls keep their answers', () => {
  const own = [message('user', 'now', { isOwn: true, turn: 5 }), ...step(1), ...step(2), ...step(3)];

  const fitted = fitHistory(own, room('drop_oldest', 3_000));

  expect(fitted).toHaveLength(own.length);
  expect(
    textsOf(fitted)
      .filter((text) => text !== '')
      .map((text) => text.slice(0, 8)),
  ).toEqual(['now', '[This re', 'result 2', 'result 3']);
});

test('short results are not taken out, which would only make the prompt longer', () => {
  const own = [
    message('user', 'now '.repeat(400), { isOwn: true, turn: 5 }),
    ...step(1, 'ok'),
    ...step(2, 'ok'),
    ...step(3),
    ...step(4, 'ok'),
  ];

  const fitted = textsOf(fitHistory(own, room('drop_oldest', 1_000)));

  expect(fitted.filter((text) => text !== '').map((text) => text.slice(0, 8))).toEqual(['now now ', 'ok', 'ok', '[This re', 'ok']);
});

const tokens = (list: readonly HistoryMessage[]) =>
  Math.ceil(Buffer.byteLength(JSON.stringify(list.map(({ content, calls }) => [content, calls]))) / 4);
/** A step with long arguments, long text and a short result, as it is stored. */
const wordy = (n: number, chars = 3_000): HistoryMessage[] => {
  const call = { tool_call_id: `id${n}`, provider_call_id: `c${n}`, slug: 's', args: { to: 'disk', body: `${n}`.padEnd(chars, 'a') } };
  return [
    message('assistant', `step ${n} `.padEnd(chars, 't'), { isOwn: true, turn: 5, calls: [call] }),
    message('tool', 'ok', { isOwn: true, turn: 5, answers: { ...answers(n), ...call, truncated: false } }),
  ];
};
const question = message('user', 'now', { isOwn: true, turn: 5 });

test('a window of 4,000 tokens takes twenty steps with arguments of 3 KB: the old ones are shortened with a note, the newest stays whole', () => {
  const steps = Array.from({ length: 20 }, (_, n) => wordy(n, 1_500));

  for (let made = 1; made <= steps.length; made += 1) {
    const fitted = fitHistory([question, ...steps.slice(0, made).flat()], room('summarize', 4_000));
    expect(tokens(fitted)).toBeLessThanOrEqual(4_000);
    expect(fitted).toHaveLength(1 + made * 2);
    expect(fitted.slice(-2)).toEqual(steps[made - 1]);
  }
  const [, old] = fitHistory([question, ...steps.flat()], room('summarize', 4_000));
  expect(old?.calls[0]?.args).toMatchObject({ to: 'disk', body: expect.stringContaining('more characters were left out to make room') });
});

test('a run of fifty steps fits a window of 4,000 tokens: where shortening is not enough, its oldest steps make way for one note', () => {
  const steps = Array.from({ length: 50 }, (_, n) => wordy(n, 1_500));

  const fitted = fitHistory([question, ...steps.flat()], room('summarize', 3_000, { windowTokens: 4_000 }));

  const [asked, note, ...kept] = fitted;
  const called = kept.flatMap(({ calls }) => calls.map(({ tool_call_id }) => tool_call_id));
  expect(tokens(fitted)).toBeLessThanOrEqual(3_000);
  expect(asked).toEqual(question);
  expect(textsOf(note ? [note] : [])[0]).toBe(`[The ${50 - kept.length / 2} oldest steps of this run were left out to make room.]`);
  expect(called.length).toBeGreaterThan(5);
  expect(kept.flatMap(({ answers: of }) => of?.tool_call_id ?? [])).toEqual(called);
  expect(fitted.slice(-2)).toEqual(steps.at(-1));
});

test('the second request after an overflow is at most half as long, also where a single run fills it', () => {
  const history = [question, ...Array.from({ length: 6 }, (_, n) => wordy(n)).flat()];

  const fitted = fitHistory(history, room('summarize', 100_000, { wasTooLong: true }));

  expect(tokens(fitted)).toBeLessThanOrEqual(tokens(history) / 2);
});

test('a run that nothing can be left out of ends, and its error says what is too long', () => {
  const long = { ...question, content: [{ type: 'text' as const, text: 'x'.repeat(40_000) }] };
  const end =
    (history: HistoryMessage[], more: Partial<ContextBudget> = {}) =>
    () =>
      fitHistory(history, room('summarize', 4_000, more));
  const error = (words: RegExp) =>
    expect.objectContaining({ message: expect.stringMatching(words), details: [expect.objectContaining({ reason: 'context_too_long' })] });

  expect(end([long])).toThrow(error(/about 1\d{4} tokens where 4000 have room \(the input of the run about 1\d{4}\)/));
  expect(end([question, ...wordy(1, 20_000)])).toThrow(error(/the newest step with its results about 1\d{4}/));
  expect(end([question], { takenTokens: 9_000 })).toThrow(error(/instructions and tools about 9000/));
  const refused = { maxTokens: 50_000, windowTokens: 50_000, wasTooLong: true, refusal: 'Only 10 tokens, please.' };
  expect(end([long], refused)).toThrow(
    error(/nothing more of it can be left out: about 1\d{4} tokens \(.*\)\. It was refused: Only 10 tokens, please\./),
  );
});

test('the model’s own count of earlier prompts is believed where it is higher than the estimate', () => {
  const counted = (n: number, tokensOfPrompt: number) =>
    wordy(n).map((one) => (one.role === 'assistant' ? { ...one, counted: tokensOfPrompt } : one));
  const history = [question, ...counted(1, 100), ...counted(2, 3_300), ...counted(3, 6_500)];

  expect(fitHistory([question, ...wordy(1), ...wordy(2), ...wordy(3)], room('summarize', 8_000))).toHaveLength(7);
  expect(tokens(fitHistory(history, room('summarize', 8_000)))).toBeLessThanOrEqual(4_000);
});

test('a note says how to read on where the agent has the tool for it', () => {
  const own = [question, ...step(1), ...step(2), ...step(3)];

  const [, , left] = fitHistory(own, room('drop_oldest', 3_000, { reader: 'result_read' }));

  expect(textsOf(left ? [left] : [])[0]).toBe(
    '[This result of 9 characters was left out to make room. result_read with call_id "id1" and offset 0 gives it.]',
  );
});
