import { useQueryClient } from '@tanstack/react-query';
import { useRef } from 'react';
import { Button, FileTrigger } from 'react-aria-components';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import type { Column } from '../ui/data-grid.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { Fault } from '../ui/notice.tsx';
import { ListState, Section } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { Status } from '../ui/status.tsx';
import { Table } from '../ui/table.tsx';
import { useIntent } from '../ui/use-intent.ts';
import { knowledgeTexts as k } from './messages.ts';
import { baseRoute } from './routes.ts';

type Source = Views['KnowledgeSourceView'];

/** Where the items of a base come from, each with how far its ingestion is. */
export function Sources({ kbId }: { readonly kbId: string }) {
  const mayWrite = useMay('member');
  const list = usePagedList<Source>({
    queryKey: ['knowledge', 'sources', kbId],
    fetchPage: (cursor, signal) => api.listKnowledgeSources({ kb_id: kbId, cursor, limit: 50 }, { signal }),
  });
  return (
    <Section title={k.sources} actions={mayWrite && <AddSource kbId={kbId} />}>
      {list.rows.length > 0 && (
        <Table label={k.sources} columns={mayWrite ? [...columns, actions] : columns} rows={list.rows} keyOf={({ id }) => id} />
      )}
      <ListState list={list} />
    </Section>
  );
}

const columns: readonly Column<Source>[] = [
  { id: 'title', title: k.source.title, cell: ({ title, uri }) => title ?? uri ?? k.untitled },
  { id: 'kind', title: k.source.kind, cell: ({ kind }) => kind },
  { id: 'state', title: k.source.state, cell: ({ state }) => <Status status={state} /> },
  { id: 'items', title: k.source.items, align: 'end', cell: ({ item_count }) => item_count },
  { id: 'error', title: k.source.error, cell: ({ error }) => error?.detail },
];
const actions: Column<Source> = { id: 'actions', title: k.source.actions, cell: (source) => <SourceActions source={source} /> };

function useRefresh() {
  const queries = useQueryClient();
  return () => queries.invalidateQueries({ queryKey: ['knowledge'] });
}

function AddSource({ kbId }: { readonly kbId: string }) {
  const { workspaceId } = baseRoute.useParams();
  const refresh = useRefresh();
  const uploaded = useRef<{ readonly file: File; readonly id: string } | null>(null);
  const add = useIntent<File>(async (file, options) => {
    if (uploaded.current?.file !== file) {
      const upload = { file, filename: file.name, purpose: 'knowledge' as const, workspace_id: workspaceId };
      uploaded.current = { file, id: (await api.createAttachment(upload, options)).id };
    }
    await api.createKnowledgeSource({ kb_id: kbId, attachment_id: uploaded.current.id, title: file.name }, options);
    await refresh();
  });
  const title = { name: 'title', label: k.title };
  return (
    <div className="actions">
      {add.error !== null && <Fault error={add.error} />}
      <FileTrigger
        onSelect={(files) => {
          const file = files?.[0];
          if (file !== undefined) void add.send(file);
        }}
      >
        <Button isPending={add.isBusy}>{k.addFile}</Button>
      </FileTrigger>
      <FormDialog
        label={k.addUrl}
        title={k.addUrl}
        submit={k.addSubmit}
        fields={[{ name: 'url', label: k.url }, title]}
        toContent={(v) => (v['url']?.trim() ? { kb_id: kbId, url: v['url'].trim(), title: v['title']?.trim() || null } : null)}
        write={(content, options) => api.createKnowledgeSource(content, options)}
        onDone={() => void refresh()}
      />
      <FormDialog
        label={k.addText}
        title={k.addText}
        submit={k.addSubmit}
        fields={[title, { kind: 'area', name: 'text', label: k.text, rows: 8 }]}
        toContent={(v) => (v['text']?.trim() ? { kb_id: kbId, text: v['text'], title: v['title']?.trim() || null } : null)}
        write={(content, options) => api.createKnowledgeSource(content, options)}
        onDone={() => void refresh()}
      />
    </div>
  );
}

function SourceActions({ source: { id, state } }: { readonly source: Source }) {
  const refresh = useRefresh();
  const sync = useIntent<{ readonly source_id: string }>(async (content, options) => {
    await api.syncKnowledgeSource(content, options);
    await refresh();
  });
  return (
    <div className="actions">
      {sync.error !== null && <Fault error={sync.error} />}
      <Button
        isPending={sync.isBusy}
        isDisabled={state !== 'ready' && state !== 'failed'}
        onPress={() => void sync.send({ source_id: id })}
      >
        {k.sync}
      </Button>
      <ActionDialog
        label={k.remove}
        title={k.removeTitle}
        submit={k.removeSubmit}
        tone="danger"
        content={{ source_id: id }}
        write={(content) => api.deleteKnowledgeSource(content)}
        onDone={() => void refresh()}
      >
        <p>{k.removeText}</p>
      </ActionDialog>
    </div>
  );
}
