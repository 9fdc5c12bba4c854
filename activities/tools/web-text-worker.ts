import { parentPort } from 'node:worker_threads';
import type { ThreadAnswer } from '../../ports/bounded-thread.ts';
import type { WebText, WebTextJob } from './web-fetch.ts';
import { readWebText } from './web-text.ts';

parentPort?.on('message', ({ id, job }: { id: number; job: WebTextJob }) => {
  void answer(id, job).then((answered) => parentPort?.postMessage(answered));
});
parentPort?.postMessage('ready');

async function answer(id: number, job: WebTextJob): Promise<ThreadAnswer<WebText>> {
  try {
    return { id, result: await readWebText(job) };
  } catch (error) {
    return { id, problem: error instanceof Error ? error.message.slice(0, 200) : 'the page could not be read' };
  }
}
