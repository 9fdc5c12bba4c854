import { Decimal } from 'decimal.js';
import type { PriceBucket, PriceUnit } from '../../workflows/contracts/prices.ts';
import { isCurrency } from '../../db/tenancy/organizations/zones.ts';
import { standardTier } from '../../db/billing/prices/prices.ts';
import type { NewPrice } from '../../db/billing/prices/model-prices.ts';
import { readDecimal } from './decimal-input.ts';

/** A price as an operator sends it, of the right types; PriceCreate on the wire. */
export interface PriceDraft {
  readonly model: string;
  readonly tier?: string;
  readonly bucket: PriceBucket;
  readonly unit?: PriceUnit;
  readonly price: string | number;
  readonly currency?: string;
  /** ISO 8601; absent: from now on. */
  readonly effective_from?: string;
  readonly source?: string;
  readonly confirm_unusual?: boolean;
}

/** The rule that a price breaks; `field` is the faulty member. */
export interface PriceFault {
  readonly field: string;
  readonly rule: string;
  readonly message: string;
}

export interface PriceRules {
  /** The currency of a price that names none. */
  readonly baseCurrency: string;
  /** Returns the registry's id of a model that goes by another name; null: unknown to the registry. */
  readonly modelIdOf: (name: string) => string | null;
}

/** How long ago a price may begin, since clocks differ and a request takes time. */
const maxPastMs = 60_000;
const maxDecimals = 12;
/** A price outside of these bounds was probably meant for the other unit. */
const usual = { '1m_tokens': { min: new Decimal('0.001'), max: new Decimal(1_000) }, 'call': { min: null, max: new Decimal(100) } };

/** Returns a draft with its defaults, or the first rule that it breaks. `startsInPast` checks separately whether it begins too early. */
export function completePrice(draft: PriceDraft, { baseCurrency, modelIdOf }: PriceRules): NewPrice | PriceFault {
  const unit: PriceUnit = draft.bucket === 'call' ? 'call' : '1m_tokens';
  const currency = draft.currency ?? baseCurrency;
  const price = readDecimal(draft.price, { maxDecimals });

  if (!isCurrency(currency)) return { field: 'currency', rule: 'currency', message: 'must be an ISO 4217 currency code' };
  if (draft.unit !== undefined && draft.unit !== unit)
    return { field: 'unit', rule: 'unit', message: `must be ${unit} for the bucket ${draft.bucket}` };
  if (!('value' in price)) return { field: 'price', ...price };
  if (isUnusual(price.value, unit) && draft.confirm_unusual !== true)
    return {
      field: 'price',
      rule: 'unusual_price',
      message: `is unusual for ${unit}. Check the unit, or set confirm_unusual to accept it`,
    };
  return {
    model: modelIdOf(draft.model) ?? draft.model,
    tier: draft.tier ?? standardTier,
    bucket: draft.bucket,
    unit,
    price: price.value,
    currency,
    effectiveFrom: draft.effective_from === undefined ? null : new Date(draft.effective_from),
    source: draft.source ?? null,
  };
}

/** Whether a price would begin so long ago that calls were priced without it. `now`: by the database's clock, which decides what is in force. */
export function startsInPast({ effectiveFrom }: NewPrice, now: Date): PriceFault | null {
  if (effectiveFrom === null || effectiveFrom.getTime() >= now.getTime() - maxPastMs) return null;
  return { field: 'effective_from', rule: 'past', message: 'must not be in the past' };
}

function isUnusual(price: string, unit: PriceUnit): boolean {
  const { min, max } = usual[unit];
  const value = new Decimal(price);
  return value.greaterThan(max) || (min !== null && !value.isZero() && value.lessThan(min));
}
