import { expect, test } from '@jest/globals';
import { fitHistory } from '../../../activities/model/context.ts';
import type { HistoryMessage } from '../../../db/runs/history.ts';

const message = (role: HistoryMessage['role'], text: string, more: Partial<HistoryMessage> = {}): HistoryMessage => ({
  id: crypto.randomUUID(),
  role,
  origin: role === 'user' ? 'user' : 'model',
  turn: 1,
  is_own: false,
  content: [{ type: 'text', text }],
  provider_state: null,
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
  message('user', 'now', { turn: turns, is_own: true }),
];
const rules = (on_overflow: 'summarize' | 'drop_oldest' | 'fail') => ({ max_input_tokens: null, keep_last_turns: 20, on_overflow });
const textsOf = (history: readonly HistoryMessage[]) => history.map(({ content }) => (content[0]?.type === 'text' ? content[0].text : ''));

test('what fits is left as it is', () => {
  const history = conversation(3);

  expect(fitHistory(history, { rules: rules('fail'), limitTokens: 5_000, wasTooLong: false })).toBe(history);
});

test('drop_oldest leaves whole old turns out, and never the run’s own', () => {
  const texts = textsOf(fitHistory(conversation(10), { rules: rules('drop_oldest'), limitTokens: 2_700, wasTooLong: false }));

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
  const [first = '', ...rest] = textsOf(fitHistory(conversation(10), { rules: rules('summarize'), limitTokens: 2_700, wasTooLong: false }));

  expect(first).toMatch(/^\[Earlier in this conversation, shortened\]/);
  expect(first).toContain('question 7');
  expect(first).not.toContain('question 0');
  expect(first.length).toBeLessThan(2_200);
  expect(rest.map((text) => text.split(' ').slice(0, 2).join(' '))).toEqual(['question 8', 'answer 8', 'question 9', 'answer 9', 'now']);
});

test('fail ends the run with a reason of its own', () => {
  expect(() => fitHistory(conversation(10), { rules: rules('fail'), limitTokens: 100, wasTooLong: false })).toThrow(
    expect.objectContaining({ type: 'validation_failed', details: [expect.objectContaining({ reason: 'context_too_long' })] }),
  );
});

test('a prompt that the provider found too long is cut to less than half', () => {
  const history = conversation(10);
  const size = (list: readonly HistoryMessage[]) => JSON.stringify(list.map(({ content }) => content)).length;

  const fitted = fitHistory(history, { rules: rules('drop_oldest'), limitTokens: Infinity, wasTooLong: true });

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
    is_own: true,
    turn: 5,
    calls: [{ tool_call_id: `id${n}`, provider_call_id: `c${n}`, slug: 's', args: {} }],
  }),
  message('tool', result, { is_own: true, turn: 5, answers: answers(n) }),
];

test('a run whose own results take too much loses the oldest of them, and calls keep their answers', () => {
  const own = [message('user', 'now', { is_own: true, turn: 5 }), ...step(1), ...step(2), ...step(3)];

  const fitted = fitHistory(own, { rules: rules('drop_oldest'), limitTokens: 3_000, wasTooLong: false });

  expect(fitted).toHaveLength(own.length);
  expect(
    textsOf(fitted)
      .filter((text) => text !== '')
      .map((text) => text.slice(0, 8)),
  ).toEqual(['now', '[This re', 'result 2', 'result 3']);
});

test('short results are not taken out, which would only make the prompt longer', () => {
  const own = [
    message('user', 'now '.repeat(400), { is_own: true, turn: 5 }),
    ...step(1, 'ok'),
    ...step(2, 'ok'),
    ...step(3),
    ...step(4, 'ok'),
  ];

  const fitted = textsOf(fitHistory(own, { rules: rules('drop_oldest'), limitTokens: 1_000, wasTooLong: false }));

  expect(fitted.filter((text) => text !== '').map((text) => text.slice(0, 8))).toEqual(['now now ', 'ok', 'ok', '[This re', 'ok']);
});
