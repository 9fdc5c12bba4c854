import { useNavigate } from '@tanstack/react-router';
import { Button } from 'react-aria-components';
import { t } from '../messages/en.ts';
import { Countdown } from '../ui/time.tsx';
import { api } from './api.ts';
import { impersonation, view } from './standing.ts';
import styles from './standing-banner.module.css';
import { useStore } from './use-store.ts';

/** Says, on every view, that the tab acts as somebody else or sees one organization alone, and leads back. */
export function StandingBanner() {
  const acting = useStore(impersonation);
  const narrowing = useStore(view);
  const navigate = useNavigate();
  if (acting !== null) {
    const end = () => {
      const { id } = acting.impersonation;
      impersonation.end();
      void navigate({ to: '/' });
      // It has ended here; that it ends there too can be looked up in the list of impersonations.
      api.endImpersonation({ impersonation_id: id }).catch(() => undefined);
    };
    return (
      <div className={styles.banner} role="region" aria-label={t.standing.label}>
        <p>
          {t.standing.acting(acting.name)} <Countdown to={acting.impersonation.expires_at} />
        </p>
        <Button onPress={end}>{t.standing.end}</Button>
      </div>
    );
  }
  if (narrowing === null) return null;
  return (
    <div className={styles.banner} role="region" aria-label={t.standing.label}>
      <p>{t.standing.viewing(narrowing.name)}</p>
      <Button
        onPress={() => {
          view.set(null);
          void navigate({ to: '/' });
        }}
      >
        {t.standing.all}
      </Button>
    </div>
  );
}
