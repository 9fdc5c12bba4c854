import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { Button } from 'react-aria-components';
import { useMe } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { CardPage } from '../app/card-page.tsx';
import { session } from '../app/session.ts';
import { Fault, Notice } from '../ui/notice.tsx';
import { FormFields } from '../ui/form-fields.tsx';
import { Countdown } from '../ui/time.tsx';
import { useIntent } from '../ui/use-intent.ts';
import { consentTexts as c } from './messages.ts';
import { usePause } from './use-pause.ts';

type Transaction = Views['AuthorizationTransactionView'];

/** Who asks for what, who decides, and the two answers. It is no form: an Enter in a field presses nothing. */
export function Decision({ transaction }: { readonly transaction: Transaction }) {
  const { client, redirect_host, scopes, warnings, expires_at, transaction_id } = transaction;
  const [chosen, setChosen] = useState<Readonly<Record<string, string>>>(() =>
    Object.fromEntries(scopes.map(({ name }) => [name, 'true'])),
  );
  const [isLeaving, setLeaving] = useState(false);
  const isHeldBack = usePause();
  const heading = useRef<HTMLParagraphElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const decide = useIntent(async (content: Views['AuthorizationDecisionBody']) => {
    const { redirect_to } = await api.decideAuthorization(content);
    setLeaving(true);
    location.replace(redirect_to);
  });
  const names = scopes.map(({ name }) => name).filter((name) => chosen[name] === 'true');
  if (isLeaving)
    return (
      <CardPage title={c.title(client.client_name)}>
        <p role="status">{c.leaving}</p>
      </CardPage>
    );
  return (
    <CardPage title={c.title(client.client_name)}>
      {/* the focus begins on nothing that grants */}
      <p ref={heading} tabIndex={-1}>
        {c.lead(client.client_name)} {client.host !== undefined && c.document(client.host)}
      </p>
      {warnings.map((warning) => (
        <Notice key={warning} tone="warn" text={c.warnings[warning] ?? warning} />
      ))}
      <Who />
      <p>
        {c.answersTo} <strong>{redirect_host}</strong>
      </p>
      <div role="group" aria-label={c.scopes} className="stack">
        <h2>{c.scopes}</h2>
        <FormFields
          fields={scopes.map(({ name, description }) => ({ kind: 'check', name, label: description }))}
          values={chosen}
          errors={{}}
          onChange={(name, value) => setChosen((all) => ({ ...all, [name]: value }))}
        />
      </div>
      {decide.error !== null && <Fault error={decide.error} />}
      {names.length === 0 && <p className="hint">{c.nothingChosen}</p>}
      <div className="actions">
        <Button
          className="react-aria-Button primary"
          isPending={decide.isBusy}
          isDisabled={isHeldBack || names.length === 0}
          onPress={() => void decide.send({ transaction_id, decision: 'approve', scopes: names })}
        >
          {c.allow}
        </Button>
        <Button isDisabled={decide.isBusy} onPress={() => void decide.send({ transaction_id, decision: 'deny' })}>
          {c.deny}
        </Button>
      </div>
      <p className="hint">
        {c.expires} <Countdown to={expires_at} />
      </p>
    </CardPage>
  );
}

/** Name, address and organization of whoever decides; another account means another sign-in, and the address leads back here. */
function Who() {
  const { user } = useMe();
  const organizationId = user?.organization_id ?? null;
  const organization = useQuery({
    queryKey: ['organization', organizationId],
    queryFn: ({ signal }) => api.getOrganization({ organization_id: organizationId ?? '' }, { signal }),
    enabled: organizationId !== null,
  });
  return (
    <div className="stack">
      <p>
        {c.who} <strong>{user?.full_name ? `${user.full_name} (${user.email})` : user?.email}</strong>{' '}
        {organization.data !== undefined && c.of(organization.data.name)}
      </p>
      <div>
        <Button onPress={() => void session.signOut()}>{c.other}</Button>
      </div>
    </div>
  );
}
