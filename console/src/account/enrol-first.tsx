import { useState } from 'react';
import { Button } from 'react-aria-components';
import { CardPage } from '../app/card-page.tsx';
import { queryClient } from '../app/queries.ts';
import { session } from '../app/session.ts';
import { t } from '../messages/en.ts';
import { ShownOnce } from '../ui/shown-once.tsx';
import { EnrolFactor } from './enrol-factor.tsx';
import { accountTexts as a } from './messages.ts';

/** In place of everything, for a session that may do nothing until it has the factor that its organization demands. */
export function EnrolFirst() {
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  return (
    <CardPage title={a.factor}>
      <p>{a.factorDemanded}</p>
      <EnrolFactor onCodes={setCodes} />
      <div>
        <Button className="react-aria-Button quiet" onPress={() => void session.signOut()}>
          {t.nav.signOut}
        </Button>
      </div>
      <ShownOnce title={a.codesTitle} secret={codes === null ? null : codes.join('\n')} onClose={() => void queryClient.resetQueries()} />
    </CardPage>
  );
}
