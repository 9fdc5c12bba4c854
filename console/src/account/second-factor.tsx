import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useMe } from '../app/access.ts';
import { api } from '../app/api.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { Section } from '../ui/page.tsx';
import { ShownOnce } from '../ui/shown-once.tsx';
import { EnrolFactor } from './enrol-factor.tsx';
import { accountTexts as a } from './messages.ts';

/** Sets the second factor up, renews its recovery codes, and removes it. Codes lie in this view until their dialog closes. */
export function SecondFactor() {
  const queries = useQueryClient();
  const { mfa } = useMe();
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  const refresh = () => void queries.invalidateQueries({ queryKey: ['me'] });
  return (
    <Section title={a.factor}>
      <p>{mfa?.enrolled ? a.factorOn : a.factorOff}</p>
      {mfa?.enrolled ? (
        <div className="actions">
          <ActionDialog
            label={a.regenerate}
            title={a.regenerateTitle}
            submit={a.regenerateSubmit}
            content={{}}
            write={async () => setCodes((await api.regenerateRecoveryCodes({})).codes)}
          >
            <p>{a.regenerateText}</p>
          </ActionDialog>
          <ActionDialog
            label={a.remove}
            title={a.removeTitle}
            submit={a.removeSubmit}
            tone="danger"
            content={{}}
            write={() => api.removeTotp({})}
            onDone={refresh}
          />
        </div>
      ) : (
        <EnrolFactor onCodes={setCodes} />
      )}
      <ShownOnce
        title={a.codesTitle}
        secret={codes === null ? null : codes.join('\n')}
        onClose={() => {
          setCodes(null);
          refresh();
        }}
      />
    </Section>
  );
}
