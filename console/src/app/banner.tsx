import { t } from '../messages/en.ts';
import { useNow } from '../ui/time.tsx';
import { connection } from './connection.ts';
import styles from './banner.module.css';
import { useStore } from './use-store.ts';

/** The one place that says that the API is away. */
export function Banner() {
  const { isAway, since } = useStore(connection);
  const now = useNow(isAway);
  if (!isAway || since === null) return null;
  const seconds = Math.max(0, Math.floor((now - since) / 1_000));
  return (
    <div className={styles.banner} data-banner="" role="status">
      {/* read out once, not every second */}
      <span aria-hidden="true">{t.faults.banner(seconds)}</span>
      <span className="hidden">{t.faults.unreachable}</span>
    </div>
  );
}
