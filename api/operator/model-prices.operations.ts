import { forgetReplies } from '../../domain/http/idempotency.ts';
import { createPrice, deletePrice } from '../../domain/billing/model-prices.ts';
import { importPrices } from '../../domain/billing/price-import.ts';
import type { PriceRules } from '../../domain/billing/new-price.ts';
import type { PriceRow } from '../../db/billing/prices/model-prices.ts';
import { post, remove, type AuditNote, type Ctx } from '../http/operation/operation.ts';
import { PriceView, toPriceView } from '../http/views/price-view.ts';
import { PriceCreate, PriceImport, PriceImportView, PriceParams, toPriceImportView } from './model-price.schema.ts';

const byOperators = { access: 'operator', visibility: 'operator', resourceType: 'model_price', ofPlatform: true } as const;

export const modelPriceOperations = {
  createModelPrice: post(
    '/model-prices',
    {
      ...byOperators,
      summary: 'Set a price',
      description:
        'Sets a price of a model from now or from a later time. Calls that began earlier keep their cost. A price that seems to have the wrong unit is refused (`unusual_price`).',
      audit: 'create',
      idempotent: true,
      fails: ['already_exists'],
      body: PriceCreate,
      view: PriceView,
      example: { body: { model: 'openai/gpt-5.4-mini', bucket: 'input', price: '0.75', source: 'https://openai.com/api/pricing' } },
    },
    async (ctx, { body }) => {
      const price = await createPrice(ctx, body, rulesOf(ctx));
      ctx.audit(noteOf(price, { to: price.price }));
      return toPriceView(price);
    },
  ),

  importModelPrices: post(
    '/model-prices/import',
    {
      ...byOperators,
      summary: 'Import prices',
      description:
        'Stores each valid row and reports the outcome of each row. A row whose price is already in force is unchanged, so the same import can be repeated.',
      audit: 'create',
      idempotent: true,
      maxBodyBytes: 2 * 1_024 * 1_024,
      success: [200],
      body: PriceImport,
      view: PriceImportView,
      example: { body: { rows: [{ model: 'openai/gpt-5.4-mini', bucket: 'output', price: '4.5' }], dry_run: true } },
    },
    async (ctx, { body: { rows, dry_run: isDryRun = false } }) => {
      const view = toPriceImportView(await importPrices(ctx, rows, { isDryRun, rules: rulesOf(ctx) }), isDryRun);
      const { created, unchanged, rejected } = view;
      const counts = { created: { to: created }, unchanged: { to: unchanged }, rejected: { to: rejected } };
      ctx.audit({ ...ofPlatform, changes: { dry_run: { to: isDryRun }, ...counts } });
      return view;
    },
  ),

  deleteModelPrice: remove(
    '/model-prices/{price_id}',
    {
      ...byOperators,
      summary: 'Delete a future price',
      description: 'Only possible before the price is in force, otherwise 409 (`in_force`): prices that calls used are kept.',
      audit: 'delete',
      fails: ['state_conflict'],
      params: PriceParams,
    },
    async (ctx, { params }) => {
      const price = await deletePrice(ctx, params.price_id);
      await forgetReplies(ctx, [price.id]);
      ctx.audit(noteOf(price, { from: price.price }));
    },
  ),
};

const ofPlatform = { resourceType: 'model_price', organizationId: null, workspaceId: null } as const;

function rulesOf({ deps }: Pick<Ctx, 'deps'>): PriceRules {
  return { baseCurrency: deps.env.billingCurrency, modelIdOf: (name) => deps.models.resolve(name)?.id ?? null };
}

function noteOf({ id, model, bucket, tier, currency }: PriceRow, price: { readonly from?: string; readonly to?: string }): AuditNote {
  return { ...ofPlatform, resourceId: id, label: `${model} ${tier} ${bucket} ${currency}`, changes: { price } };
}
