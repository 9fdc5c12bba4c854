import { createLiquid, renderTemplate, type RenderedTemplate, type TemplateVariables } from './template-rules.ts';

/** Templates to render with the same variables; without variables they are only parsed, and what is wrong with each is told. */
export interface TemplateJob {
  readonly templates: readonly string[];
  readonly variables: TemplateVariables | null;
}

/** A text for each template, or, where they were only parsed, its fault or null. */
export interface TemplateResult {
  readonly rendered: readonly RenderedTemplate[];
  readonly faults: readonly (string | null)[];
}

const engine = createLiquid();

/** Runs in a child of the pool. Rendering throws on syntax, unknown filters and limits. */
export function work({ templates, variables }: TemplateJob): TemplateResult {
  if (variables === null) return { rendered: [], faults: templates.map(faultOf) };
  return { rendered: templates.map((template) => renderTemplate(engine, template, variables)), faults: [] };
}

function faultOf(template: string): string | null {
  try {
    engine.parse(template);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message.slice(0, 300) : 'can not be read';
  }
}
