import { text } from 'node:stream/consumers';
import { Longhaul } from '../../../clients/typescript/src/index.ts';

// A process that reads a run's frames, leaves after some, and prints what it met.
const { baseUrl, serviceKey, runId, after, leaveAfter } = JSON.parse(await text(process.stdin));
const stream = new Longhaul({ baseUrl, serviceKey }).run(runId).frames({ after });
const seqs = [];
for await (const { seq } of stream) {
  seqs.push(seq);
  if (seq === leaveAfter) break;
}
process.stdout.write(JSON.stringify({ seqs, cursor: stream.cursor }));
