const canonicalZones: ReadonlySet<string> = new Set(Intl.supportedValuesOf('timeZone'));
const currencies: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'));

// The engine lists one name per zone and does not list the others that it knows (UTC, Europe/Kyiv, Asia/Kolkata). When asked for a name it ignores case, and
// accepts offsets and short forms that are not in the database.
const otherZone =
  /^(?:UTC|GMT|Etc\/(?:UTC|UCT|GMT(?:0|[+-]\d{1,2})?|Greenwich|Universal|Zulu)|(?:Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Brazil|Canada|Chile|Europe|Indian|Mexico|Pacific|US)(?:\/[A-Z][a-z]+[A-Za-z]*(?:[_-][A-Za-z]+)*){1,2})$/;

/** Names that the IANA database has dropped and the engine still knows: PostgreSQL, which splits days by zone, does not. */
const droppedZones: ReadonlySet<string> = new Set(['US/Pacific-New', 'Canada/East-Saskatchewan']);

/** Whether the text names a zone of the IANA time zone database, in the database's own spelling. */
export function isTimeZone(text: string): boolean {
  if (canonicalZones.has(text)) return true;
  return text.length <= 64 && otherZone.test(text) && !droppedZones.has(text) && !isMisspelt(text) && isKnown(text);
}

/** Whether the text is a currency code of ISO 4217, in capitals. */
export function isCurrency(text: string): boolean {
  return currencies.has(text);
}

let canonicalByLowerCase: ReadonlySet<string> | null = null;

function isMisspelt(text: string): boolean {
  canonicalByLowerCase ??= new Set([...canonicalZones].map((zone) => zone.toLowerCase()));
  return canonicalByLowerCase.has(text.toLowerCase());
}

function isKnown(zone: string): boolean {
  try {
    return Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}
