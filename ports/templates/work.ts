import { createLiquid, parseTemplate, renderTemplate, type Composites, type RenderedTemplate, type TemplateVariables } from './rules.ts';

/** Templates to render with the same variables; without variables they are only parsed, and the error of each is returned. */
export interface TemplateJob {
  readonly templates: readonly string[];
  readonly variables: TemplateVariables | null;
  /** `plain` by default. */
  readonly composites?: Composites;
}

/** A text for each template, or, when they were only parsed, its error or null. */
export interface TemplateResult {
  readonly rendered: readonly RenderedTemplate[];
  readonly faults: readonly (string | null)[];
}

const engines = { plain: createLiquid('plain'), joined: createLiquid('joined'), refused: createLiquid('refused') };

/** Runs in a child of the pool. Rendering throws on syntax, unknown filters and limits. */
export function work({ templates, variables, composites = 'plain' }: TemplateJob): TemplateResult {
  if (variables === null) return { rendered: [], faults: templates.map(faultOf) };
  return { rendered: templates.map((template) => renderTemplate(engines[composites], template, variables)), faults: [] };
}

function faultOf(template: string): string | null {
  try {
    parseTemplate(engines.plain, template);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message.slice(0, 300) : 'can not be read';
  }
}
