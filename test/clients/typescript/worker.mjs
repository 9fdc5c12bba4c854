import { text } from 'node:stream/consumers';
import { Longhaul } from '../../../clients/typescript/src/index.ts';

// A process that executes a client tool, and prints the id of each call once its work is done.
const { baseUrl, serviceKey, runId, slug } = JSON.parse(await text(process.stdin));
const work = (_, { callId }) => {
  process.stdout.write(`${callId}\n`);
  return 'worked';
};
await new Longhaul({ baseUrl, serviceKey }).run(runId).result({ tools: { [slug]: work } });
