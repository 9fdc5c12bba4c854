import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ModelEvent } from '../../../activities/model/step.ts';
import { eventsOf, failureOf, finishOf, requestOf, scripted, startStepBench, textOf, type StepBench } from './model-step.ts';
import { eventShapes, type EventShape } from './event-shapes.ts';
import { sse, streamBytes, streamChunks, streamTails, type ShapeOutcome, type StreamShape } from './stream-shapes.ts';

let bench: StepBench;
beforeAll(async () => {
  bench = await startStepBench();
});
afterAll(() => bench.close());

const slug = (name: string) => name.replaceAll(/[^\w]+/g, '-');
const ask = ({ name, raw, adapter = 'openai_compatible' }: StreamShape & Partial<EventShape>) => {
  bench.server.script(slug(name), { steps: [{ raw }] });
  return requestOf(bench.model(adapter), {
    messages: [{ role: 'user', content: [{ type: 'text', text: `[script:${slug(name)}]` }] }],
  });
};

function outcomeOf(events: readonly ModelEvent[], expected: ShapeOutcome): ShapeOutcome {
  const finish = finishOf(events);
  const { input, output, estimated } = finish.usage;
  const calls = events.flatMap((event) => (event.type === 'tool_call' ? [{ slug: event.slug, args: event.args }] : []));
  const reasoning = events.map((event) => (event.type === 'reasoning' ? event.delta : '')).join('');
  return {
    ...(textOf(events) === '' ? {} : { text: textOf(events) }),
    ...(reasoning === '' ? {} : { reasoning }),
    ...(calls.length === 0 ? {} : { calls }),
    stopReason: finish.stopReason as ShapeOutcome['stopReason'] & string,
    ...(expected.usage === undefined ? {} : { usage: estimated ? null : [input, output] }),
    ...(finish.warnings?.length ? { warned: true } : {}),
  };
}

test.each([...streamTails, ...streamChunks, ...streamBytes, ...eventShapes])('a stream with this is read: $name', async (shape) => {
  if (shape.outcome.error) {
    const { error } = await failureOf(bench, ask(shape));
    const { says, ...facts } = shape.outcome.error;
    expect(error).toMatchObject(facts);
    expect(error.message).toContain(says);
    return;
  }
  expect(outcomeOf(await eventsOf(bench, ask(shape)), shape.outcome)).toEqual(shape.outcome);
});

test.each(['openai', 'anthropic'] as const)(
  'an answer is over with its own end mark, whatever the connection does (%s)',
  async (adapter) => {
    const left = { text: 'Hello', afterwards: 'open' } as const;
    const broken = { text: 'Hello!', afterwards: 'reset' } as const;

    for (const step of [left, broken]) {
      const events = await eventsOf(bench, requestOf(bench.model(adapter), { messages: scripted(step) }));
      expect([textOf(events), finishOf(events).stopReason, finishOf(events).usage.estimated]).toEqual([step.text, 'stop', false]);
    }
  },
);

test('a finished answer is never called silent, however little patience its model has', async () => {
  const raw = {
    body: sse(JSON.stringify({ choices: [{ delta: { content: 'Hello' }, finish_reason: 'stop' }] })),
    afterwards: 'open',
  } as const;
  const model = bench.model('openai_compatible', { idleS: 0.2 });

  const events = await eventsOf(bench, requestOf(model, { messages: scripted({ raw }) }));

  expect([textOf(events), finishOf(events).stopReason]).toEqual(['Hello', 'stop']);
});

test.each(['openai', 'anthropic', 'openai_compatible'] as const)(
  'a connection that ends its answers well serves the next call too (%s)',
  async (adapter) => {
    const model = bench.model(adapter);
    for (const text of ['One.', 'Two.', 'Three.'])
      await eventsOf(bench, requestOf(model, { messages: scripted({ text: `${text} ${adapter}`, afterwards: 'late' }) }));

    const ports = bench.server
      .calls()
      .filter(({ body }) => JSON.stringify(body).includes(` ${adapter}`))
      .map(({ peerPort }) => peerPort);
    expect(ports).toHaveLength(3);
    expect(new Set(ports).size).toBeLessThan(3);
  },
);
