import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { collectStep, type StepSink } from '../../../activities/model/collect-step.ts';
import { resultToolOf, type JsonAnswer } from '../../../activities/model/prompt/json-answer.ts';
import { streamModelStep } from '../../../activities/model/step.ts';
import type { FrameWriter } from '../../../domain/streams/emitter.ts';
import type { ScriptStep } from '../../fakes/model-server.ts';
import { requestOf, scripted, startStepBench, type StepBench } from './model-step.ts';

let bench: StepBench;
beforeAll(async () => {
  bench = await startStepBench();
});
afterAll(() => bench.close());

interface Delta {
  readonly index: number;
  readonly block: string;
  readonly delta: string;
}

/** The deltas of an answer, joined by block, and its content. */
async function answerOf(mode: JsonAnswer['mode'], step: ScriptStep) {
  const deltas: Delta[] = [];
  const writer = {
    delta: ({ index, block, delta }: Delta) => deltas.push({ index, block, delta }),
    frame: () => undefined,
    argsDelta: () => undefined,
    reasoning: () => undefined,
    room: () => Promise.resolve(),
  } as unknown as FrameWriter; // as far as a step writes
  const json: JsonAnswer = { mode, schema: null, name: 'result', strict: false };
  const tool = resultToolOf(json);
  const request = requestOf(bench.model('openai_compatible'), { messages: scripted(step), ...(tool ? { json, tools: [tool] } : { json }) });
  const sink: StepSink = { writer, now: () => new Date(), messageId: 'm', step: 1, tools: [], resultTool: tool?.slug ?? null, json: mode };

  const { content, result } = await collectStep(streamModelStep(bench, request), sink);

  const blocks = Object.values(Object.groupBy(deltas, ({ index }) => index)).map((parts = []) => ({
    block: [...new Set(parts.map(({ block }) => block))].join(),
    text: parts.map(({ delta }) => delta).join(''),
  }));
  expect(deltas.every(({ delta }) => delta !== '')).toBe(true);
  return { blocks, pieces: deltas.length, content, result };
}

const value = { city: 'Bern', note: 'ends with ```', degrees: [3, 4] };
const json = JSON.stringify(value);

test.each([
  ['native', 'as it is', json],
  ['native', 'behind white space', `\n \n${json}\n`],
  ['prompt', 'in a fence', `\`\`\`json\n${json}\n\`\`\``],
  ['prompt', 'in a bare fence, with an end', `\`\`\`\n${json}\n\`\`\`\n\n`],
  ['tool', 'in words', json],
] as const)('JSON of mode %s, %s, streams as the JSON that the message holds', async (mode, _name, text) => {
  for (const tokens of [1, 7, text.length]) {
    const { blocks, content } = await answerOf(mode, { text, tokens });

    expect(blocks.map(({ block, text: streamed }) => [block, JSON.parse(streamed)])).toEqual([['json', value]]);
    expect(content).toEqual([{ type: 'json', value }]);
  }
});

test('the arguments of the result tool stream as the JSON of the answer, behind what was said before', async () => {
  const { blocks, pieces, content, result } = await answerOf('tool', {
    text: 'Here it is.',
    tool_calls: [{ name: 'emit_result', arguments: value }],
  });

  expect(blocks).toEqual([
    { block: 'text', text: 'Here it is.' },
    { block: 'json', text: json },
  ]);
  expect(pieces).toBeGreaterThan(4);
  expect([content, result]).toEqual([[{ type: 'text', text: 'Here it is.' }], { args: value, argsText: json }]);
});

test.each([
  ['prompt', 'It is 3 degrees.', 'text'],
  ['tool', '42 is the answer.', 'text'],
  ['native', '42', 'json'],
  ['native', '{"city":"Ber', 'json'],
] as const)('in mode %s what begins like "%s" streams as %s', async (mode, text, block) => {
  const { blocks, content } = await answerOf(mode, { text, tokens: text.length });

  expect(blocks).toEqual([{ block, text }]);
  expect(content).toEqual([text === '42' ? { type: 'json', value: 42 } : { type: 'text', text }]);
});
