import type { Views } from '../app/api.ts';
import { shortAmount } from '../ui/money.tsx';
import styles from './budget-meter.module.css';
import { usageTexts as u } from './messages.ts';

/** How much of a limit is spent, and how much more calls under way have reserved. Nothing where there is no limit. */
export function BudgetMeter({ status }: { readonly status: Views['BudgetStatusView'] }) {
  const { limit_amount, spent, reserved, currency } = status;
  if (limit_amount === null || limit_amount === undefined) return null;
  // widths on screen; the amounts stand beside it as they are
  const share = (amount: string) => (Number(limit_amount) === 0 ? 100 : Math.min(100, (Number(amount) / Number(limit_amount)) * 100));
  const spentShare = share(spent);
  return (
    <svg
      role="img"
      aria-label={u.meter(
        `${shortAmount(spent)} ${currency}`,
        `${shortAmount(reserved)} ${currency}`,
        `${shortAmount(limit_amount)} ${currency}`,
      )}
      className={styles.meter}
      viewBox="0 0 100 6"
      preserveAspectRatio="none"
    >
      <rect className={styles.spent} x="0" y="0" width={spentShare} height="6" />
      <rect className={styles.reserved} x={spentShare} y="0" width={Math.min(100 - spentShare, share(reserved))} height="6" />
    </svg>
  );
}
