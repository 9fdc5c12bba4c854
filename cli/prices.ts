import { pino } from 'pino';
import { writeSystemEntry } from '../domain/audit/system-entry.ts';
import { pricesOfModels } from '../db/billing/prices/model-prices.ts';
import type { Databases } from '../db/databases.ts';
import { sweep } from '../db/transaction.ts';
import { importPrices, type PriceOutcome } from '../domain/billing/price-import.ts';
import type { PriceDraft, PriceRules } from '../domain/billing/new-price.ts';
import { catalogCurrency, catalogName, catalogPrices, catalogSource } from '../ports/models/price-catalog.ts';
import { loadModelRegistry, type ModelRegistry } from '../ports/models/models.ts';
import { withDeployment } from './attach.ts';
import type { Attached } from './databases.ts';
import { billingCurrencyOf, type CliEnv } from './env.ts';
import { readPriceFile } from './price-file.ts';
import { SetupError } from './setup-error.ts';

export interface PricesCommand {
  readonly env: CliEnv;
  readonly log: (line: string) => void;
  /** JSON or CSV; undefined: the catalogue of the package, for the models of the registry. */
  readonly file: string | undefined;
  readonly isDryRun: boolean;
}

const rowsATransaction = 2_000;
const silent = pino({ level: 'silent' });

/**
 * `longhaul prices import [FILE] [--dry-run]`: stores the prices of a file, or the catalogue's prices of the registry's models. A price that is already in
 * force is unchanged, so the command can be stopped at any point and repeated. Returns false (exit 1) if a row was rejected.
 */
export async function pricesImport({ env, log, file, isDryRun }: PricesCommand): Promise<boolean> {
  const rows = file === undefined ? [] : readPriceFile(file);
  return withDeployment({ env, log }, async ({ db, variables }) => {
    const setting = priceSetting(variables);
    const wrong = rows.flatMap((row) => ('wrong' in row ? [`rejected   row ${row.line}: ${row.wrong}`] : []));
    const good = rows.flatMap((row) => ('draft' in row ? [row] : []));
    const catalog = file === undefined ? catalogDrafts(setting) : null;
    const wanted = catalog ? await withoutOwn(db, catalog.drafts, { setting, log }) : good.map(({ draft }) => draft);
    const outcomes = await importInParts(db, wanted, { setting, isDryRun });

    outcomes.forEach((outcome, at) => log(lineOf(outcome, { draft: wanted[at], row: good[at]?.line })));
    [...wrong, ...(catalog?.omitted ?? [])].forEach(log);
    const count = (wanted: PriceOutcome['outcome']) => outcomes.filter(({ outcome }) => outcome === wanted).length;
    const rejected = count('rejected') + wrong.length;
    log(`${isDryRun ? 'Dry run: would be ' : ''}created ${count('created')}, unchanged ${count('unchanged')}, rejected ${rejected}.`);
    return rejected === 0;
  });
}

/**
 * Stores the catalogue's prices for models of the registry that have none at all, so that a first run shows its cost. Logs a line with what it stored, and one
 * for each model that it omits, with the reason. Models with a price of any origin are left alone.
 */
export async function fillPrices({ db, variables }: Pick<Attached, 'db' | 'variables'>, log: (line: string) => void): Promise<void> {
  const setting = priceSetting(variables);
  const { drafts, omitted } = catalogDrafts(setting);
  if (drafts.length === 0) return;
  const priced = new Set(
    (await sweep(db, (em) => pricesOfModels(em, [...new Set(drafts.map(({ model }) => model))]))).map(({ model }) => model),
  );
  const missing = drafts.filter(({ model }) => !priced.has(model));
  const made = await importInParts(db, missing, { setting, isDryRun: false });

  const models = [...new Set(made.flatMap((outcome) => (outcome.outcome === 'created' ? [outcome.price.model] : [])))];
  if (models.length > 0) log(`Prices of ${catalogName()} for ${models.join(', ')}.`);
  if (omitted.length > 0 && models.length > 0) omitted.forEach(log);
}

interface PriceSetting {
  readonly registry: ModelRegistry;
  readonly rules: PriceRules;
}

function priceSetting(variables: CliEnv): PriceSetting {
  const registry = loadModelRegistry(variables, silent);
  const modelIdOf = (name: string) => registry.resolve(name)?.id ?? null;
  return { registry, rules: { baseCurrency: billingCurrencyOf(variables), modelIdOf } };
}

/** Returns the catalogue's prices of the models that this deployment can call, and a line for each model whose prices are omitted. */
function catalogDrafts({ registry, rules }: PriceSetting): { drafts: PriceDraft[]; omitted: string[] } {
  if (rules.baseCurrency !== catalogCurrency)
    return {
      drafts: [],
      omitted: [`The catalogue is in ${catalogCurrency}, calls are priced in ${rules.baseCurrency}. Import a file instead.`],
    };
  const drafts: PriceDraft[] = [];
  const omitted: string[] = [];
  for (const { id, isFree } of registry.list()) {
    const model = registry.resolve(id);
    if (isFree || model === null) continue;
    const answer = catalogPrices({ ...model, baseUrl: model.connection.baseUrl }, new Date());
    if ('omitted' in answer) omitted.push(`left out   ${id}: ${answer.omitted}`);
    else drafts.push(...answer.prices.map((price) => ({ model: id, ...price, source: catalogName() })));
  }
  return { drafts, omitted };
}

interface Importing {
  readonly setting: PriceSetting;
  readonly isDryRun: boolean;
}

/** The catalogue replaces only its own prices: a price that an operator has set is kept and reported. */
async function withoutOwn(
  db: Databases,
  drafts: readonly PriceDraft[],
  { setting, log }: { readonly setting: PriceSetting; readonly log: (line: string) => void },
): Promise<PriceDraft[]> {
  const planned = await importInParts(db, drafts, { setting, isDryRun: true });
  return drafts.filter(({ model, bucket, price }, at) => {
    const outcome = planned[at];
    const isOwn =
      outcome?.outcome === 'created' && outcome.replaces !== null && outcome.replaces.source?.startsWith(catalogSource) !== true;
    if (isOwn) log(`kept       ${model} ${bucket}: a price of your own; the catalogue says ${price}`);
    return !isOwn;
  });
}

/** Each transaction imports a bounded number of rows and writes its own entry into the audit log of the platform. */
async function importInParts(db: Databases, drafts: readonly PriceDraft[], { setting, isDryRun }: Importing): Promise<PriceOutcome[]> {
  const outcomes: PriceOutcome[] = [];
  for (let at = 0; at < drafts.length; at += rowsATransaction) {
    const part = drafts.slice(at, at + rowsATransaction);
    outcomes.push(...(await sweep(db, (em) => importPart({ em }, part, { setting, isDryRun }))));
  }
  return outcomes;
}

async function importPart(
  { em }: { readonly em: Parameters<Parameters<typeof sweep>[1]>[0] },
  drafts: readonly PriceDraft[],
  { setting, isDryRun }: Importing,
): Promise<PriceOutcome[]> {
  const outcomes = await importPrices({ em }, drafts, { isDryRun, rules: setting.rules });
  const created = outcomes.filter(({ outcome }) => outcome === 'created').length;
  if (isDryRun || created === 0) return outcomes;

  const note = { resourceType: 'model_price', organizationId: null, changes: { created: { to: created } } };
  await writeSystemEntry(em, { action: 'create', note });
  return outcomes;
}

/** `row`: its number in the file, if it comes from one. */
function lineOf(
  outcome: PriceOutcome,
  { draft, row }: { readonly draft: PriceDraft | undefined; readonly row: number | undefined },
): string {
  if (outcome.outcome === 'rejected') {
    const place = row === undefined ? '' : `row ${row}: `;
    return `rejected   ${place}${draft?.model} ${draft?.bucket}: ${outcome.fault.field} ${outcome.fault.message}`;
  }
  const { model, tier, bucket, unit, price, currency } = outcome.price;
  const text = `${outcome.outcome.padEnd(10)} ${model} ${tier} ${bucket}: ${price} ${currency} per ${unit === 'call' ? 'call' : 'million tokens'}`;
  if (outcome.outcome === 'unchanged' || outcome.replaces === null) return text;
  const { price: before, source } = outcome.replaces;
  return `${text}, was ${before}${source === null ? '' : ` (${source})`}`;
}

/** @throws SetupError for more than one file. */
export function onlyFile(positionals: readonly string[]): string | undefined {
  if (positionals.length > 3) throw new SetupError(`longhaul ${positionals[0]} import takes exactly one file.`);
  return positionals[2];
}
