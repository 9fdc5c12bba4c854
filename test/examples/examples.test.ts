import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { openStage, type Stage } from '../access/stage.ts';
import { playAll, type Play } from './play.ts';
import { isWriting, readExamples, staleKeys, writeExamples } from './recorded.ts';

jest.setTimeout(900_000);

let stage: Stage;
let play: Play;
beforeAll(async () => {
  stage = await openStage({ isUnchecked: true });
  play = await playAll(stage);
  if (isWriting) writeExamples(stage.operations, play.seen);
});
afterAll(() => stage?.close());

test('every operation answers the request of its example', () => {
  expect(play.faults).toEqual([]);
});

test('no example has a key that the reply of today lacks', () => {
  const recorded = readExamples();
  const stale = [...play.seen].flatMap(([operationId, present]) => {
    const example = recorded[operationId];
    return example ? staleKeys(example, present).map((key) => `${operationId} ${key}`) : [`${operationId} has no example`];
  });

  expect(stale).toEqual([]);
});
