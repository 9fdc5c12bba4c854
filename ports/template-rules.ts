import { Liquid } from 'liquidjs';

/** Variables of a template by their root name; only own properties are visible. */
export type TemplateVariables = Readonly<Record<string, unknown>>;

export interface RenderedTemplate {
  readonly text: string;
  /** Paths that had no value and were rendered empty, at most 20. */
  readonly missing: readonly string[];
}

const removedTags = ['include', 'render', 'layout', 'block', 'tablerow', 'cycle', 'increment', 'decrement', 'liquid'];
const limitOutput = 200_000;
const limitRenderMs = 300;
const limitMemory = 10_000_000;

/** The one Liquid engine: own properties, strict filters, no file system, no tag that loads, repeats without bound or keeps state. */
export function createLiquid(): Liquid {
  const engine = new Liquid({
    ownPropertyOnly: true,
    strictFilters: true,
    strictVariables: false,
    cache: false,
    parseLimit: limitOutput,
    renderLimit: limitRenderMs,
    memoryLimit: limitMemory,
    templates: {},
    relativeReference: false,
  });
  for (const tag of removedTags) Reflect.deleteProperty(engine.tags, tag);
  return engine;
}

/** Renders where it is called: callers outside the pool's children use `createTemplates`. Throws on syntax, unknown filters and limits. */
export function renderTemplate(engine: Liquid, template: string, variables: TemplateVariables): RenderedTemplate {
  const parsed = engine.parse(template);
  const missing = engine
    .globalVariablesSync(parsed)
    .filter((root) => variables[root] === undefined)
    .slice(0, 20);
  const text = String(engine.renderSync(parsed, variables));
  if (text.length > limitOutput) throw new Error(`output is over ${limitOutput} characters`);
  return { text, missing };
}
