import { t } from '../messages/en.ts';
import { useNow } from '../ui/time.tsx';
import { connection } from './connection.ts';
import styles from './banner.module.css';
import { pace } from './pace.ts';
import { useStore } from './use-store.ts';

/** The one place that says that the API is away, or wants a pause. */
export function Banner() {
  const { isAway, since } = useStore(connection);
  if (!isAway || since === null) return <Pause />;
  return <Away since={since} />;
}

function Away({ since }: { readonly since: number }) {
  const now = useNow(true);
  const seconds = Math.max(0, Math.floor((now - since) / 1_000));
  return (
    <div className={styles.banner} data-banner="" role="status">
      {/* read out once, not every second */}
      <span aria-hidden="true">{t.faults.banner(seconds)}</span>
      <span className="hidden">{t.faults.unreachable}</span>
    </div>
  );
}

/** Requests of this browser have used up a quota: says how long nothing is asked. */
function Pause() {
  const { pausedUntil } = useStore(pace);
  const now = useNow(pausedUntil > 0);
  const seconds = Math.ceil((pausedUntil - now) / 1_000);
  if (seconds <= 0) return null;
  return (
    <div className={styles.banner} data-banner="" role="status">
      <span aria-hidden="true">{t.faults.pause(seconds)}</span>
      <span className="hidden">{t.faults.paused}</span>
    </div>
  );
}
