import { isCurrency, isTimeZone } from '../../../db/tenancy/organizations/zones.ts';
import { invalid } from '../../../workflows/contracts/failure.ts';
import { text } from '../input/schema.ts';

/** A zone of the IANA database as a field; `checkTimezone` judges it. */
export const Timezone = text(64, { minLength: 1, description: 'IANA time zone, for example Europe/Berlin' });
/** A currency as a field; `checkCurrency` judges it. */
export const Currency = text(3, { minLength: 3, pattern: '^[A-Z]{3}$', description: 'ISO 4217 currency code' });

/** 422 when a time zone was sent that doesn't exist. */
export function checkTimezone(pointer: string, zone: string | undefined): void {
  if (zone !== undefined && !isTimeZone(zone)) throw invalid(pointer, 'timezone', 'must be an IANA time zone');
}

/** 422 when a currency was sent that doesn't exist. */
export function checkCurrency(pointer: string, currency: string | undefined): void {
  if (currency !== undefined && !isCurrency(currency)) throw invalid(pointer, 'currency', 'must be an ISO 4217 currency code');
}
