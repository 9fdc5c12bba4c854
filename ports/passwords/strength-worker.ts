import { parentPort } from 'node:worker_threads';
import { ZxcvbnFactory } from '@zxcvbn-ts/core';
import { adjacencyGraphs, dictionary as common } from '@zxcvbn-ts/language-common';
import { dictionary as english } from '@zxcvbn-ts/language-en';
import type { ThreadAnswer } from '../untrusted/bounded-thread.ts';
import type { StrengthJob } from './strength.ts';

// A tenth of the default's readings of digits as letters: each costs a pass over all dictionaries.
const rater = new ZxcvbnFactory({ dictionary: { ...common, ...english }, graphs: adjacencyGraphs, l33tMaxSubstitutions: 10 });

parentPort?.on('message', ({ id, job }: { id: number; job: StrengthJob }) => parentPort?.postMessage(answer(id, job)));
parentPort?.postMessage('ready');

function answer(id: number, { password, known }: StrengthJob): ThreadAnswer<number> {
  return { id, result: rater.check(password, [...known]).score };
}
