import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useBlocker, useNavigate } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { Button, Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components';
import { api, type Views } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { Choice } from '../ui/choice.tsx';
import { useDraft } from '../ui/draft.ts';
import { Area, Field } from '../ui/fields.tsx';
import { Fault, Notice } from '../ui/notice.tsx';
import { Page, Section } from '../ui/page.tsx';
import { useIntent } from '../ui/use-intent.ts';
import { DraftForm } from './draft-form.tsx';
import { decodeDraft, documentOf, type RevisionDraft } from './draft.ts';
import { agentTexts as a } from './messages.ts';
import { draftRoute } from './routes.ts';
import { Validation } from './validation.tsx';

const { draft: d } = a;

/** Writes a new revision of an agent, beginning with one that there is. Nothing of it is lost by a reload, a lost answer or a colleague. */
export function DraftPage() {
  const { agentId } = draftRoute.useParams();
  const { from } = draftRoute.useSearch();
  const agent = useQuery({ queryKey: ['agents', agentId], queryFn: ({ signal }) => api.getAgent({ agent_id: agentId }, { signal }) });
  const newest = useQuery({
    queryKey: ['agents', agentId, 'revisions', 'newest'],
    queryFn: ({ signal }) => api.listAgentRevisions({ agent_id: agentId, limit: 1 }, { signal }),
  });
  const begun = from ?? agent.data?.active_revision_id ?? newest.data?.items[0]?.id;
  const start = useQuery({
    queryKey: ['agents', agentId, 'revisions', begun],
    queryFn: ({ signal }) => api.getAgentRevision({ agent_id: agentId, revision_id: begun ?? '' }, { signal }),
    enabled: begun !== undefined,
  });
  const error = agent.error ?? newest.error ?? start.error;
  if (error !== null) return <Fault error={error} />;
  if (agent.data === undefined || newest.data === undefined || (begun !== undefined && start.data === undefined))
    return <p role="status">{t.list.loading}</p>;
  return <Draft agent={agent.data} base={newest.data.items[0]?.id ?? null} document={start.data?.document ?? {}} />;
}

interface DraftProps {
  readonly agent: Views['AgentView'];
  readonly base: string | null;
  readonly document: object;
}

function Draft({ agent, base, document }: DraftProps) {
  const { workspaceId } = draftRoute.useParams();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [kept, keep] = useDraft(`revision:${agent.id}`);
  // What is polled meanwhile never changes what somebody writes.
  const [opened] = useState<RevisionDraft>({ base, text: JSON.stringify(document, null, 2), note: '' });
  const [hadDraft] = useState(decodeDraft(kept) !== null);
  const draft = decodeDraft(kept) ?? opened;
  const [view, setView] = useState<'form' | 'json'>('form');
  const change = (part: Partial<RevisionDraft>) => keep(JSON.stringify({ ...draft, ...part }));
  const parsed = documentOf(draft.text);
  const isSaved = useRef(false);
  const save = useIntent(async (content: Parameters<typeof api.createAgentRevision>[0], options) => {
    const made = await api.createAgentRevision(content, options);
    isSaved.current = true;
    keep('');
    await queries.invalidateQueries({ queryKey: ['agents', agent.id] });
    const params = { workspaceId, agentId: agent.id, revisionId: made.id };
    await navigate({ to: '/w/$workspaceId/agents/$agentId/revisions/$revisionId', params, ignoreBlocker: true });
  });
  const leaving = useBlocker({
    shouldBlockFn: () => !isSaved.current && kept !== '',
    withResolver: true,
    enableBeforeUnload: () => kept !== '',
  });
  const send = () => {
    if (typeof parsed === 'string') return;
    void save.send({
      agent_id: agent.id,
      document: parsed,
      base_revision_id: draft.base,
      note: draft.note.trim() === '' ? null : draft.note.trim(),
    });
  };
  return (
    <Page title={d.title(agent.name)}>
      {hadDraft && kept !== '' && <Notice tone="plain" text={d.kept} />}
      <Choice
        label={d.view}
        value={view}
        options={[
          { id: 'form', label: d.form },
          { id: 'json', label: d.json },
        ]}
        onChange={setView}
      />
      {view === 'form' && typeof parsed !== 'string' ? (
        <DraftForm document={parsed} onChange={(next) => change({ text: JSON.stringify(next, null, 2) })} />
      ) : (
        <Area
          label={d.document}
          rows={24}
          isMono
          value={draft.text}
          onChange={(text) => change({ text })}
          error={parsed === 'invalid' ? d.invalidJson : parsed === 'no object' ? d.mustBeObject : null}
        />
      )}
      <Field label={d.note} value={draft.note} onChange={(note) => change({ note })} />
      {typeof parsed !== 'string' && (
        <Section title={d.validation}>
          <Validation agentId={agent.id} document={parsed} />
        </Section>
      )}
      {save.error !== null && <Fault error={save.error} />}
      {draft.base !== base && <Notice tone="warn" text={d.moved} />}
      <div className="actions">
        <Button className="react-aria-Button primary" isPending={save.isBusy} isDisabled={typeof parsed === 'string'} onPress={send}>
          {d.save}
        </Button>
        {draft.base !== base && <Button onPress={() => change({ base })}>{d.rebase}</Button>}
        {kept !== '' && <Button onPress={() => keep('')}>{d.discard}</Button>}
      </div>
      {leaving.status === 'blocked' && <Leaving onStay={leaving.reset} onGo={leaving.proceed} />}
    </Page>
  );
}

function Leaving({ onStay, onGo }: { readonly onStay: () => void; readonly onGo: () => void }) {
  return (
    <ModalOverlay isOpen onOpenChange={(isOpen) => !isOpen && onStay()}>
      <Modal>
        <Dialog role="alertdialog">
          <Heading slot="title" level={2}>
            {d.leave}
          </Heading>
          <div className="actions">
            <Button className="react-aria-Button primary" onPress={onStay}>
              {d.stay}
            </Button>
            <Button onPress={onGo}>{d.go}</Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
