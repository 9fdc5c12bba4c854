const dateTime = /^(\d{4})-(\d{2})-(\d{2})T([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;
const date = /^(\d{4})-(\d{2})-(\d{2})$/;
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const decimal = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;
/** Invisible characters: two addresses that differ only in them look the same in every list. */
const invisible = /[\p{C}\p{Default_Ignorable_Code_Point}]/u;
/**
 * What the document says of an address in place of the format `email`: that one is RFC 5321 in ASCII, while mail servers and this contract also
 * know addresses with other letters (RFC 6531) and hosts of one word.
 */
export const emailPattern = '^[^\\s@"(),:;<>\\[\\]\\\\]+@[^\\s@"(),:;<>\\[\\]\\\\]+$';
const email = new RegExp(emailPattern);

/** The formats of the contract; no other is known to the validator. */
export const formats = {
  'uuid': (text: string) => uuid.test(text),
  'date-time': isDateTime,
  'date': (text: string) => isRealDate(date.exec(text)),
  'email': isEmail,
  'https-url': isHttpsUrl,
  'decimal': (text: string) => decimal.test(text),
} as const satisfies Record<string, (text: string) => boolean>;

/** Normal forms of values: ids in lower case, instants in UTC with three fractional digits. */
export const normalForms = {
  'uuid': (text: string) => text.toLowerCase(),
  'date-time': (text: string) => new Date(text).toISOString(),
} as const satisfies Partial<Record<keyof typeof formats, (text: string) => string>>;

/** RFC 3339 with an offset, a real date and a capital T; at most nine digits of a second. In UTC too it lies in the years 1 to 9999. */
function isDateTime(text: string): boolean {
  if (!isRealDate(dateTime.exec(text))) return false;
  const year = new Date(text).getUTCFullYear();
  return year >= 1 && year <= 9_999;
}

function isRealDate(match: RegExpExecArray | null): boolean {
  if (!match) return false;
  const [year, month, day] = match.slice(1, 4).map(Number);
  if (year === undefined || month === undefined || day === undefined || year === 0) return false;
  const made = new Date(Date.UTC(year, month - 1, day));
  if (year < 100) made.setUTCFullYear(year);
  return made.getUTCMonth() === month - 1 && made.getUTCDate() === day;
}

/** One `@`, no invisible character, and a domain without other forms of its characters (fullwidth letters, U+3002 for a dot), which mail servers read as it. */
function isEmail(text: string): boolean {
  const [local = '', domain = ''] = text.split('@');
  return (
    email.test(text) &&
    !invisible.test(text) &&
    domain.normalize('NFKC') === domain.normalize('NFC') &&
    !domain.includes('\u3002') &&
    !local.startsWith('.') &&
    !local.endsWith('.') &&
    !domain.startsWith('.') &&
    !domain.endsWith('.') &&
    !domain.includes('..')
  );
}

function isHttpsUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && url.protocol === 'https:' && url.hostname !== '' && url.username === '' && url.password === '';
}
