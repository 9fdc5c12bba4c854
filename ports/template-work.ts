import { createLiquid, renderTemplate, type RenderedTemplate, type TemplateVariables } from './template-rules.ts';

/** Templates to render with the same variables; without variables they are only parsed. */
export interface TemplateJob {
  readonly templates: readonly string[];
  readonly variables: TemplateVariables | null;
}

const engine = createLiquid();

/** Runs in a child of the pool. Gives one entry a template, none when they are only parsed. Throws on syntax, unknown filters and limits. */
export function work({ templates, variables }: TemplateJob): RenderedTemplate[] {
  if (variables !== null) return templates.map((template) => renderTemplate(engine, template, variables));
  for (const template of templates) engine.parse(template);
  return [];
}
