import { readFileSync } from 'node:fs';
import { calcPrice, findProvider, type MatchLogic } from '@pydantic/genai-prices';
import { Decimal } from 'decimal.js';
import type { PriceBucket } from '../../workflows/contracts/prices.ts';
import type { ModelCapabilities } from './models.ts';

/** Prefix of the source of every price that was taken from the catalogue. */
export const catalogSource = '@pydantic/genai-prices';
/** The currency of all its prices. */
export const catalogCurrency = 'USD';

/** A model as the registry describes it. */
export interface CatalogQuestion {
  readonly id: string;
  /** The provider's own name of it. */
  readonly name: string;
  readonly baseUrl: string | null;
  readonly contextWindow: number;
  readonly capabilities: Pick<ModelCapabilities, 'image' | 'audio'>;
}

/** The catalogue's prices of a model, per million tokens or per call, or why they are omitted. */
export type CatalogAnswer =
  | { readonly prices: readonly { readonly bucket: PriceBucket; readonly price: string }[] }
  | { readonly omitted: string };

/** Returns the catalogue with its version: its prices are as old as the package. It ships with its data, and never requests newer ones. */
export function catalogName(): string {
  const entry = new URL(import.meta.resolve(catalogSource));
  const { version } = JSON.parse(readFileSync(new URL('../package.json', entry), 'utf8')) as { version: string }; // npm requires one
  return `${catalogSource} ${version}`;
}

const bucketOf: Readonly<Record<string, PriceBucket | undefined>> = {
  input_mtok: 'input',
  cache_read_mtok: 'cached_read',
  // For five minutes, which is what we request; a cache of an hour has a separate price.
  cache_write_mtok: 'cached_write',
  output_mtok: 'output',
  output_reasoning_mtok: 'reasoning',
  requests_kcount: 'call',
};

/** What we never ask a model for, whatever it would cost. */
const neverBought = /^(?:web_searches|storage_searches)_kcount$|^cache_write_1h_mtok$|^output_(?:audio|image|video)_mtok$|video_mtok$/;

/**
 * Returns the catalogue's prices of a model at a time. The provider is found by the address that is called, the model by its exact name or a dated snapshot of
 * it: a similar name is no price. Prices that our buckets can't express are omitted: those that change with the length of a prompt within the model's window or
 * with the time of day, and those of counts that are not recorded.
 */
export function catalogPrices(model: CatalogQuestion, at: Date): CatalogAnswer {
  const provider = model.baseUrl === null ? undefined : findProvider({ providerApiUrl: model.baseUrl });
  if (!provider) return { omitted: 'its server is not in the catalogue' };
  const found = calcPrice({ input_tokens: 0, output_tokens: 0 }, model.name, { provider, timestamp: at });
  if (!found) return { omitted: 'it is not in the catalogue' };
  const { id, match, prices } = found.model;
  if (!isNamed(model.name, { id, match })) return { omitted: `the catalogue knows only ${id}, which is like it` };
  if (Array.isArray(prices) && prices.some(({ constraint }) => constraint?.type === 'time_of_date'))
    return { omitted: 'its price changes with the hour' };
  return pricesOf(found.model_price, model);
}

type CatalogPrice = number | undefined | { readonly base: number; readonly tiers: readonly { readonly start: number }[] };

function pricesOf(priced: Readonly<Record<string, CatalogPrice>>, { contextWindow, capabilities }: CatalogQuestion): CatalogAnswer {
  const prices: { bucket: PriceBucket; price: string }[] = [];
  for (const [name, price] of Object.entries(priced)) {
    if (price === undefined || isNeverBought(name, price, { capabilities, priced })) continue;
    const bucket = bucketOf[name];
    if (bucket === undefined) return { omitted: `nothing counts what its price ${name} is for` };
    const step = typeof price === 'number' ? undefined : price.tiers.find(({ start }) => start < contextWindow);
    if (step) return { omitted: `its price changes where a prompt is longer than ${step.start} tokens` };
    const amount = new Decimal(typeof price === 'number' ? price : price.base);
    prices.push({ bucket, price: (bucket === 'call' ? amount.dividedBy(1_000) : amount).toFixed() });
  }
  const lacks = (['input', 'output'] as const).find((bucket) => !prices.some((price) => price.bucket === bucket));
  return lacks && !prices.some(({ bucket }) => bucket === 'call') ? { omitted: `the catalogue has no price of its ${lacks}` } : { prices };
}

function isNeverBought(
  name: string,
  price: CatalogPrice,
  {
    capabilities,
    priced,
  }: { readonly capabilities: CatalogQuestion['capabilities']; readonly priced: Readonly<Record<string, CatalogPrice>> },
): boolean {
  if (neverBought.test(name)) return true;
  if (name.includes('audio')) return !capabilities.audio;
  if (name === 'input_image_mtok') return !capabilities.image || price === priced['input_mtok'];
  if (name === 'cache_image_read_mtok') return !capabilities.image || price === priced['cache_read_mtok'];
  return false;
}

/** Whether the catalogue has this exact name, or the name is a dated snapshot of one (`-20260917`, `-2026-09-17`). */
function isNamed(name: string, { id, match }: { readonly id: string; readonly match: MatchLogic }): boolean {
  const wanted = name.toLowerCase();
  return [id, ...namesOf(match)].some((known) => wanted === known || wanted.replace(/-(?:\d{8}|\d{4}-\d{2}-\d{2})$/, '') === known);
}

function namesOf(match: MatchLogic): string[] {
  if ('equals' in match) return [match.equals.toLowerCase()];
  return 'or' in match ? match.or.flatMap(namesOf) : [];
}
