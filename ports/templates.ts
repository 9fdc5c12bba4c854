import { createBoundedThread, ThreadLimit, ThreadProblem } from './bounded-thread.ts';
import type { RenderedTemplate, TemplateVariables } from './template-rules.ts';

export type { RenderedTemplate, TemplateVariables } from './template-rules.ts';

/** A template that cannot be rendered: bad syntax, an unknown filter, or a limit of time, memory or output. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
}

/** Renders the Liquid templates that tenants write, in a worker thread that is replaced when a template outlives its time. */
export interface Templates {
  /** Throws TemplateError. */
  render(template: string, variables: TemplateVariables): Promise<RenderedTemplate>;
  /** Parses only; throws TemplateError. */
  check(template: string): Promise<void>;
  close(): Promise<void>;
}

/** What the thread is asked: to render, or without variables only to parse. */
export interface TemplateJob {
  readonly template: string;
  readonly variables: TemplateVariables | null;
}

export function createTemplates(): Templates {
  const thread = createBoundedThread<TemplateJob, RenderedTemplate>(new URL('./template-worker.ts', import.meta.url), {
    limitMs: 500,
    heapMb: 64,
  });

  async function ask(job: TemplateJob): Promise<RenderedTemplate> {
    try {
      return await thread.ask(job);
    } catch (error) {
      if (error instanceof ThreadLimit || error instanceof ThreadProblem) throw new TemplateError(error.message);
      throw error; // a fault of the thread is nobody's template
    }
  }

  return {
    render: (template, variables) => ask({ template, variables }),
    async check(template) {
      await ask({ template, variables: null });
    },
    close: () => thread.close(),
  };
}
