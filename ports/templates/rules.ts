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
 * What a template writes of a value that is no text. `plain`: as Liquid does, members of a list one after the other. For requests, where that would
 * be read as something else: an object is refused, and a list `joined` by commas (of texts, numbers and booleans) or `refused`.
 */
export type Composites = 'plain' | 'joined' | 'refused';

const removedTags = ['include', 'render', 'layout', 'block', 'tablerow', 'cycle', 'increment', 'decrement', 'liquid'];
/** Liquid's own properties of lists and texts. */
const computed: ReadonlySet<string> = new Set(['size', 'first', 'last']);
const maxOutput = 200_000;
/** Processor time of a rendering. */
const maxRenderMs = 300;
const maxMemory = 10_000_000;

/** The one Liquid engine: own properties, strict filters, no file system, no tag that loads, repeats without bound or keeps state. */
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
    // Liquid itself makes a text of what is no list.
    ...(composites === 'plain' ? {} : { outputEscape: (value: unknown) => write(value) as string }),
  });
  if (composites !== 'plain') engine.registerFilter('raw', { raw: true, handler: write });
  engine.registerFilter('fence', fence);
  keepNumbers(engine);
  for (const tag of removedTags) Reflect.deleteProperty(engine.tags, tag);
  return engine;
}

/** Throws on syntax, and on numbers that no template can keep. */
export function parseTemplate(engine: Liquid, template: string): Template[] {
  const parsed = engine.parse(template);
  refuseLiterals(template);
  return parsed;
}

/** Renders where it is called: callers outside the pool's children use `createTemplates`. Throws on syntax, unknown filters and limits. */
export function renderTemplate(engine: Liquid, template: string, variables: TemplateVariables): RenderedTemplate {
  const parsed = parseTemplate(engine, template);
  const missing = missingPaths(engine, parsed, variables);
  const isPlain = engine.options.outputEscape === undefined;
  const text = renderInTime(engine, parsed, isPlain ? variables : (withoutText(variables) as TemplateVariables)); // keeps the shape
  if (text.length > maxOutput) throw new Error(`output has more than ${maxOutput} characters`);
  return { text, missing };
}

/**
 * Liquid counts a rendering's time by the clock, which also runs while the process is stopped or gets no processor. Here it is the processor's: Liquid asks its limiter
 * before each node, which looks there.
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

/** Paths whose value is not there; one with an index that is computed is not judged. What Liquid itself gives of lists and texts is always there. */
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

/** Between two lines with a random mark, which the text itself can't know: what it says ends where the fence does. */
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

/** Whatever turns an object into a text, a filter too, fails instead of writing `[object Object]`. */
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
