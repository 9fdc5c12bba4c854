import { parentPort } from 'node:worker_threads';
import type { ThreadAnswer } from './bounded-thread.ts';
import { createLiquid, renderTemplate, type RenderedTemplate } from './template-rules.ts';
import type { TemplateJob } from './templates.ts';

const engine = createLiquid();

parentPort?.on('message', ({ id, job }: { id: number; job: TemplateJob }) => parentPort?.postMessage(answer(id, job)));
parentPort?.postMessage('ready');

function answer(id: number, { template, variables }: TemplateJob): ThreadAnswer<RenderedTemplate> {
  try {
    if (variables !== null) return { id, result: renderTemplate(engine, template, variables) };
    engine.parse(template);
    return { id, result: { text: '', missing: [] } };
  } catch (error) {
    return { id, problem: error instanceof Error ? error.message.slice(0, 300) : 'template failed' };
  }
}
