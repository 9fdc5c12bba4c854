/** An amount as the API says it, in decimal: digits are cut for the eye, never rounded through a float. The title has all of them. */
export function Money({ amount, currency }: { readonly amount: string; readonly currency: string }) {
  return (
    <span title={`${amount} ${currency}`}>
      {shortAmount(amount)} {currency}
    </span>
  );
}

/** Two digits after the point; as many more as it takes to show that it is not nothing, but at most six. */
export function shortAmount(amount: string): string {
  const [whole = '0', digits = ''] = amount.split('.');
  const firstShown = digits.search(/[1-9]/);
  if (whole.replace('-', '') !== '0' || firstShown < 0) return `${whole}.${digits.slice(0, 2).padEnd(2, '0')}`;
  if (firstShown > 5) return `< 0.000001`;
  return `${whole}.${digits.slice(0, Math.max(2, Math.min(6, firstShown + 2))).padEnd(2, '0')}`;
}

/** Groups the digits of a whole number in the reader's way. */
export function formatCount(count: number): string {
  return new Intl.NumberFormat().format(count);
}
