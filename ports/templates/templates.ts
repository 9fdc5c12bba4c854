import type { Composites, RenderedTemplate, TemplateVariables } from './rules.ts';
import type { TemplateJob, TemplateResult } from './work.ts';
import type { WorkPool } from '../untrusted/pool.ts';
import { WorkLimit, WorkProblem } from '../untrusted/work-errors.ts';

export type { RenderedTemplate, TemplateVariables } from './rules.ts';

/** A template that cannot be rendered: bad syntax, an unknown filter, or a limit of time, memory or output. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
}

/** Renders the Liquid templates that one tenant writes, as untrusted work. All throw TemplateError, and `service_unavailable` as the pool does. */
export interface Templates {
  render(template: string, variables: TemplateVariables): Promise<RenderedTemplate>;
  /** Renders several with the same variables, as one job; returns the texts in order. */
  renderAll(templates: readonly string[], variables: TemplateVariables): Promise<string[]>;
  /** Does the same, with the missing paths of each. */
  renderEach(templates: readonly string[], variables: TemplateVariables): Promise<readonly RenderedTemplate[]>;
  /** Only parses. */
  check(template: string): Promise<void>;
  /** Parses several, as one job; returns the position of the first that can't be read, -1 when all can. */
  firstFault(templates: readonly string[]): Promise<number>;
  /** Returns templates for a request: an object in a text is an error, and so is a list that is not joined. */
  forRequest(lists: Exclude<Composites, 'plain'>): Templates;
}

/** The templates of each organization; null is the platform. */
export interface TemplatesByTenant {
  of(organizationId: string | null): Templates;
}

export function createTemplates(pool: Pick<WorkPool, 'run'>): TemplatesByTenant {
  async function ask(organizationId: string | null, job: TemplateJob): Promise<TemplateResult> {
    try {
      return await pool.run('template', { organizationId, job, subject: () => job.templates.join('\0') });
    } catch (error) {
      if (error instanceof WorkLimit || error instanceof WorkProblem) throw new TemplateError(error.message);
      throw error; // an error of the pool is not the template's
    }
  }

  function templatesOf(organizationId: string | null, composites: Composites): Templates {
    const run = (templates: readonly string[], variables: TemplateVariables | null) =>
      ask(organizationId, { templates, variables, composites });
    const renderEach = async (templates: readonly string[], variables: TemplateVariables) =>
      templates.length === 0 ? [] : (await run(templates, variables)).rendered;
    return {
      async render(template, variables) {
        const { rendered } = await run([template], variables);
        return rendered[0] ?? { text: '', missing: [] };
      },
      async renderAll(templates, variables) {
        return (await renderEach(templates, variables)).map(({ text }) => text);
      },
      renderEach,
      async check(template) {
        const [fault = null] = (await run([template], null)).faults;
        if (fault !== null) throw new TemplateError(fault);
      },
      async firstFault(templates) {
        if (templates.length === 0) return -1;
        return (await run(templates, null)).faults.findIndex((fault) => fault !== null);
      },
      forRequest: (lists) => templatesOf(organizationId, lists),
    };
  }

  return { of: (organizationId) => templatesOf(organizationId, 'plain') };
}
