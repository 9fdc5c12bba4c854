import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from 'react-aria-components';
import { ApiError } from '@longhaul/client';
import { api, type Views } from '../app/api.ts';
import { reasonOf } from '../app/problem.ts';
import { t } from '../messages/en.ts';
import { EditForm, type EditFields } from '../ui/edit-form.tsx';
import type { Version } from '../ui/edit-state.ts';
import { Field } from '../ui/fields.tsx';
import { JsonDiff } from '../ui/json-diff.tsx';
import { JsonEditor } from '../ui/json-editor.tsx';
import { readJson } from '../ui/read-json.ts';
import { isSame } from '../ui/merge-json.ts';
import { Fault } from '../ui/notice.tsx';
import { newestRevisionQuery, readNewest } from './agent-queries.ts';
import { DocumentForm } from './document-form.tsx';
import { agentTexts as a } from './messages.ts';
import { Validation, useValidation } from './validation.tsx';

export type RevisionDocument = Views['RevisionDocument'];
type Revision = Views['AgentRevisionView'];

/** The newest revision, by its id, which is what a further one is based on. */
function versionOfRevision(revision: Revision | null): Version<RevisionDocument> {
  return { value: revision?.document ?? {}, etag: revision?.id };
}

function isStale(error: unknown): boolean {
  return error instanceof ApiError && reasonOf(error) === 'revision_base_stale';
}

/** The next revision of an agent, written as a form or as JSON. */
export function Draft({ agentId }: { readonly agentId: string }) {
  const queries = useQueryClient();
  const newest = useQuery(newestRevisionQuery(agentId));
  const [problem, setProblem] = useState<string | null>(null);
  const [note, setNote] = useState('');
  if (newest.data === undefined)
    return newest.error === null ? (
      <p role="status">{t.list.loading}</p>
    ) : (
      <Fault error={newest.error} onRetry={() => void newest.refetch()} />
    );
  const current = versionOfRevision(newest.data);
  const write = async (document: RevisionDocument, { idempotencyKey, ifMatch }: { idempotencyKey: string; ifMatch?: string }) => {
    const content = { agent_id: agentId, document, note: note.trim() || null, base_revision_id: ifMatch ?? null };
    await api.createAgentRevision(content, { idempotencyKey });
    await queries.refetchQueries({ queryKey: ['agent', agentId] });
  };
  return (
    <>
      <p className="hint">{newest.data === null ? a.draftFirst : a.draftIntro(newest.data.number)}</p>
      <EditForm<RevisionDocument>
        draft={`revision:${agentId}`}
        current={current}
        read={async () => versionOfRevision(await readNewest(agentId))}
        write={(_changes, options, whole) => write(whole, options)}
        labels={a.doc}
        pointer="/document"
        isOvertaken={isStale}
        submit={a.saveRevision}
        disabledBecause={problem}
        onSaved={() => setNote('')}
      >
        {(fields) => (
          <>
            <DraftFields agentId={agentId} fields={fields} onProblem={setProblem} />
            <Field label={a.fields.note} value={note} onChange={setNote} />
            <details>
              <summary>{a.changes}</summary>
              <JsonDiff label={a.changes} before={current.value} after={fields.value} />
            </details>
          </>
        )}
      </EditForm>
    </>
  );
}

interface DraftFieldsProps {
  readonly agentId: string;
  readonly fields: EditFields<RevisionDocument>;
  readonly onProblem: (problem: string | null) => void;
}

function DraftFields({ agentId, fields, onProblem }: DraftFieldsProps) {
  const [isJson, setJson] = useState(false);
  const validation = useValidation(agentId, fields.value);
  const error = (name: keyof RevisionDocument & string) => fields.error(name) ?? validation.at(name);
  const show = (next: boolean) => {
    onProblem(null);
    setJson(next);
  };
  return (
    <>
      <div className="actions">
        <Button aria-pressed={!isJson} onPress={() => show(false)}>
          {a.asForm}
        </Button>
        <Button aria-pressed={isJson} onPress={() => show(true)}>
          {a.asJson}
        </Button>
      </div>
      {isJson ? (
        <DocumentEditor value={fields.value} onChange={fields.replace} onProblem={onProblem} />
      ) : (
        <DocumentForm agentId={agentId} fields={{ ...fields, error }} onProblem={onProblem} />
      )}
      <Validation validation={validation} />
    </>
  );
}

interface DocumentEditorProps {
  readonly value: RevisionDocument;
  readonly onChange: (value: RevisionDocument) => void;
  readonly onProblem: (problem: string | null) => void;
}

function DocumentEditor({ value, onChange, onProblem }: DocumentEditorProps) {
  const [typed, setTyped] = useState<{ readonly text: string; readonly of: RevisionDocument; readonly problem: string | null } | null>(
    null,
  );
  const isTyped = typed !== null && isSame(typed.of, value);
  const change = (text: string) => {
    const { value: read, problem } = readJson(text);
    const document = problem === null ? (read as RevisionDocument) : value; // the server says if it is none
    setTyped({ text, of: document, problem });
    onProblem(problem);
    if (problem === null) onChange(document);
  };
  return (
    <JsonEditor
      label={a.document}
      value={isTyped ? typed.text : JSON.stringify(value, null, 2)}
      onChange={change}
      error={isTyped ? typed.problem : null}
    />
  );
}
