import { readFileSync } from 'node:fs';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { lowerPriority } from '../untrusted/lower-priority.ts';
import type { OnboardAnswer, OnboardJob } from './model-process.ts';
import { toUnitLength } from './hash.ts';
import { openTokenizer, type Tokenizer } from './tokenizer.ts';

/** Lets requests and other work of the machine run first. */
const niceness = 10;

interface OpenModel {
  readonly session: InferenceSession;
  readonly tokenizer: Tokenizer;
}

lowerPriority(niceness);
// The parent has exited, for whatever reason.
process.on('disconnect', () => process.exit());
const [modelPath = '', tokenizerPath = '', threads = '1'] = process.argv.slice(2);
const model = await open();

process.on('message', ({ id, job }: { id: number; job: OnboardJob }) => void answer(id, job).then(post));
post('ready');

function post(message: OnboardAnswer): void {
  process.send?.(message);
}

async function open(): Promise<OpenModel> {
  const session = await InferenceSession.create(modelPath, {
    executionProviders: ['cpu'],
    enableCpuMemArena: false, // with the arena a process keeps what its largest batch took: 1 GB instead of 0.4
    intraOpNumThreads: Number(threads),
    interOpNumThreads: 1,
  });
  return { session, tokenizer: openTokenizer(readFileSync(tokenizerPath, 'utf8')) };
}

async function answer(id: number, job: OnboardJob): Promise<OnboardAnswer> {
  try {
    return { id, vectors: await vectorsOf(model, job) };
  } catch (error) {
    return { id, problem: error instanceof Error ? error.message.slice(0, 200) : 'not embedded' };
  }
}

/** Returns the mean of the last hidden states of a text's tokens, of length 1, as sentence-transformers reads this model. */
async function vectorsOf({ session, tokenizer }: OpenModel, { texts, maxTokens }: OnboardJob): Promise<Float32Array[]> {
  const ids = texts.map((text) => tokenizer.encode(text, maxTokens));
  const width = Math.max(...ids.map((row) => row.length));
  const inputs = padded(ids, width);
  const { last_hidden_state: states } = await session.run({
    input_ids: new Tensor('int64', inputs.ids, [ids.length, width]),
    attention_mask: new Tensor('int64', inputs.mask, [ids.length, width]),
    token_type_ids: new Tensor('int64', new BigInt64Array(ids.length * width), [ids.length, width]),
  });
  if (states === undefined || !(states.data instanceof Float32Array)) throw new Error('the model gave no last_hidden_state');

  const dim = states.dims[2] ?? 0;
  const { data } = states;
  return ids.map((row, at) => meanOf(data.subarray(at * width * dim, (at * width + row.length) * dim), dim));
}

function padded(rows: readonly (readonly number[])[], width: number): { ids: BigInt64Array; mask: BigInt64Array } {
  const ids = new BigInt64Array(rows.length * width);
  const mask = new BigInt64Array(rows.length * width);
  for (const [at, row] of rows.entries())
    for (const [column, id] of row.entries()) {
      ids[at * width + column] = BigInt(id);
      mask[at * width + column] = 1n;
    }
  return { ids, mask };
}

/** Adds up rows of `dim` numbers and scales the sum to length 1, which makes the division by their count unnecessary. */
function meanOf(states: Float32Array, dim: number): Float32Array {
  const sum = new Float32Array(dim);
  for (let at = 0; at < states.length; at++) sum[at % dim] = (sum[at % dim] ?? 0) + (states[at] ?? 0);
  return toUnitLength(sum);
}
