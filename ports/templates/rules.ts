import { randomBytes } from 'node:crypto';
import { Context, Liquid, type Template } from 'liquidjs';
import { valueAt } from '../json/pointer.ts';
import { escapePointer } from '../../workflows/contracts/tools/json-pointer.ts';
import { keepNumbers, refuseLiterals } from './numbers.ts';

/** Variables of a template by their root name; only own properties are visible. */
export type TemplateVariables = Readonly<Record<string, unknown>>;

export interface RenderedTemplate {
  readonly text: string;
  /** Paths that had no value and were rendered empty, at most 20. */
  readonly missing: readonly string[];
}

/**
 * How a template writes a value that is not text. `plain`: as Liquid does, members of a list one after the other. The others are for requests, where that would
 * be misread: an object is refused, and a list is `joined` by commas (of texts, numbers and booleans) or `refused`.
 */
export type Composites = 'plain' | 'joined' | 'refused';

const removedTags = ['include', 'render', 'layout', 'block', 'tablerow', 'cycle', 'increment', 'decrement', 'liquid'];
/** Liquid's built-in properties of lists and texts. */
const computed: ReadonlySet<string> = new Set(['size', 'first', 'last']);
const maxOutput = 200_000;
/** Maximum processor time of a rendering. */
const maxRenderMs = 300;
const maxMemory = 10_000_000;

/** Creates the one Liquid engine: own properties, strict filters, no file system, no tag that loads, repeats without bound or keeps state. */
export function createLiquid(composites: Composites = 'plain'): Liquid {
  const write = (value: unknown) => (Array.isArray(value) ? written(value, composites) : value);
  const engine = new Liquid({
    ownPropertyOnly: true,
    strictFilters: true,
    strictVariables: false,
    cache: false,
    parseLimit: maxOutput,
    memoryLimit: maxMemory,
    templates: {},
    relativeReference: false,
    // Liquid itself converts to text whatever is not a list.
    ...(composites === 'plain' ? {} : { outputEscape: (value: unknown) => write(value) as string }),
  });
  if (composites !== 'plain') engine.registerFilter('raw', { raw: true, handler: write });
  engine.registerFilter('fence', fence);
  keepNumbers(engine);
  for (const tag of removedTags) Reflect.deleteProperty(engine.tags, tag);
  return engine;
}

/** Throws on syntax errors, and on numbers that no template can represent. */
export function parseTemplate(engine: Liquid, template: string): Template[] {
  const parsed = engine.parse(template);
  refuseLiterals(template);
  return parsed;
}

/** Renders in the calling process: callers outside the pool's children use `createTemplates`. Throws on syntax, unknown filters and limits. */
export function renderTemplate(engine: Liquid, template: string, variables: TemplateVariables): RenderedTemplate {
  const parsed = parseTemplate(engine, template);
  const missing = missingPaths(engine, parsed, variables);
  const isPlain = engine.options.outputEscape === undefined;
  const text = renderInTime(engine, parsed, isPlain ? variables : (withoutText(variables) as TemplateVariables)); // keeps the shape
  if (text.length > maxOutput) throw new Error(`output has more than ${maxOutput} characters`);
  return { text, missing };
}

/**
 * Liquid measures a rendering by wall-clock time, which also passes while the process is frozen or gets no processor. This uses processor time instead: Liquid
 * calls its limiter before each node, and the limiter checks it.
 */
function renderInTime(engine: Liquid, parsed: Template[], variables: TemplateVariables): string {
  const context = new Context(variables, engine.options, { sync: true }, { liquid: engine });
  const before = process.cpuUsage();
  context.renderLimit.check = () => {
    const { user, system } = process.cpuUsage(before);
    if (user + system > maxRenderMs * 1_000) throw new Error('template render limit exceeded');
  };
  return String(engine.renderSync(parsed, context));
}

/** Returns the paths that have no value; one with a computed index is not checked. Liquid's built-in properties of lists and texts always exist. */
function missingPaths(engine: Liquid, parsed: Template[], variables: TemplateVariables): string[] {
  const missing = new Set<string>();
  for (const segments of engine.globalVariableSegmentsSync(parsed)) {
    const plain = segments.filter((segment): segment is string | number => typeof segment !== 'object');
    if (plain.length < segments.length) continue;
    const path = computed.has(String(plain.at(-1))) ? plain.slice(0, -1) : plain;
    const pointer = path.map((segment) => `/${escapePointer(String(segment))}`).join('');
    if (valueAt(variables, pointer) === undefined) missing.add(plain.join('.'));
  }
  return [...missing].slice(0, 20);
}

/** Puts a text between two lines with a random boundary, which the text itself can't know: it ends where the fence does. */
function fence(value: unknown): string {
  const mark = randomBytes(8).toString('hex');
  const text = typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '');
  return `<<<${mark}\n${text}\n${mark}>>>`;
}

function written(list: readonly unknown[], composites: Composites): string {
  if (composites === 'refused') throw new Error('a list cannot be printed in a text: the template must join it or write it as JSON');
  return list
    .filter((member) => member !== null && member !== undefined)
    .map((member) => {
      if (typeof member === 'object') throw new Error('a list of lists or objects has no form there');
      return String(member);
    })
    .join(',');
}

/** Makes every conversion of an object to text fail, also in a filter, instead of writing `[object Object]`. */
const noText = {
  toString(): never {
    throw new Error('an object cannot be printed in a text: the template must use one of its fields or write it as JSON');
  },
};

function withoutText(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withoutText);
  if (node === null || typeof node !== 'object' || node instanceof Date) return node;
  const copy: object = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, withoutText(value)]));
  return Object.setPrototypeOf(copy, noText) as object;
}
