import Type, { type Static } from 'typebox';
import type { PriceOutcome } from '../../domain/billing/price-import.ts';
import { priceUnits } from '../../workflows/contracts/prices.ts';
import { PriceBucketName, PriceModel, PriceTier } from '../http/views/price-view.ts';
import { Currency } from '../http/views/zones.ts';
import { closed, idOf, integer, listOf, nullable, oneOf, text, Timestamp } from '../http/input/schema.ts';

export const PriceParams = closed({ price_id: idOf('Other', 'A price that is not yet in force') });

const PriceAmount = Type.Unsafe<string | number>({
  type: ['string', 'number'],
  maxLength: 40,
  description:
    'Decimal of at most 12 places below 100,000,000,000, without sign; a number of at most 15 significant digits, or a string without exponent',
});

export const PriceCreate = closed(
  {
    model: PriceModel,
    tier: Type.Optional({ ...PriceTier, default: 'standard' }),
    bucket: PriceBucketName,
    unit: Type.Optional(
      oneOf(priceUnits, { description: 'Determined by the bucket: `call` for call, otherwise `1m_tokens`; any other value is 422' }),
    ),
    price: PriceAmount,
    currency: Type.Optional({ ...Currency, description: 'ISO 4217; the billing currency of the deployment' }),
    effective_from: Type.Optional({ ...Timestamp, description: 'Now or later; defaults to now' }),
    source: Type.Optional(text(200, { minLength: 1, description: 'Where the price was found' })),
    confirm_unusual: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          'Accepts prices above 1000 or below 0.001 for 1m_tokens, or above 100 for a call, which usually result from a wrong unit',
      }),
    ),
  },
  { $id: 'PriceCreate' },
);

export const PriceImport = closed(
  {
    rows: listOf(PriceCreate, { minItems: 1, maxItems: 2_000 }),
    dry_run: Type.Optional(Type.Boolean({ default: false, description: 'Stores nothing and reports what would be stored' })),
  },
  { $id: 'PriceImport' },
);

const PriceImportRow = closed(
  {
    index: integer(),
    outcome: oneOf(['created', 'unchanged', 'rejected']),
    price_id: nullable(idOf('Other', 'null in a dry run and for a rejected row')),
    error: nullable(closed({ rule: text(60), message: text(300) })),
  },
  { $id: 'PriceImportRow' },
);

export const PriceImportView = closed(
  {
    dry_run: Type.Boolean(),
    created: integer(),
    unchanged: integer(),
    rejected: integer(),
    rows: listOf(PriceImportRow, { maxItems: 2_000 }),
  },
  { $id: 'PriceImportView', description: 'The outcome of each row' },
);

export function toPriceImportView(outcomes: readonly PriceOutcome[], isDryRun: boolean): Static<typeof PriceImportView> {
  const count = (wanted: PriceOutcome['outcome']) => outcomes.filter(({ outcome }) => outcome === wanted).length;
  return {
    dry_run: isDryRun,
    created: count('created'),
    unchanged: count('unchanged'),
    rejected: count('rejected'),
    rows: outcomes.map((row, index) => ({
      index,
      outcome: row.outcome,
      price_id: row.outcome === 'rejected' ? null : row.priceId,
      error: row.outcome === 'rejected' ? { rule: row.fault.rule, message: `/${row.fault.field} ${row.fault.message}` } : null,
    })),
  };
}
