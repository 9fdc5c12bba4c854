import { useRef, useState } from 'react';
import { api, type Views } from '../app/api.ts';

/** A file that goes along with a message: on its way, there, or refused. */
export interface UploadedFile {
  readonly key: string;
  readonly name: string;
  readonly bytes: number;
  readonly attachment: Views['AttachmentView'] | null;
  /** null: nothing is wrong. */
  readonly error: unknown;
}

/** The contract takes as many with one message. */
export const filesAtMost = 20;

/** Uploads files as they are given, each once. */
export function useUploads(workspaceId: string) {
  const [files, setFiles] = useState<readonly UploadedFile[]>([]);
  const sources = useRef(new Map<string, { readonly file: File; readonly idempotencyKey: string; readonly abort: AbortController }>());
  const change = (key: string, part: Partial<UploadedFile>) =>
    setFiles((before) => before.map((one) => (one.key === key ? { ...one, ...part } : one)));

  const upload = async (key: string) => {
    const source = sources.current.get(key);
    if (source === undefined) return;
    const { file, idempotencyKey, abort } = source;
    change(key, { error: null });
    try {
      const attachment = await api.createAttachment(
        { file, filename: file.name, purpose: 'run_input', workspace_id: workspaceId },
        { idempotencyKey, signal: abort.signal },
      );
      change(key, { attachment });
    } catch (error) {
      if (!abort.signal.aborted) change(key, { error });
    }
  };
  return {
    files,
    add(given: readonly File[]): void {
      const room = given.slice(0, filesAtMost - files.length);
      const added = room.map((file) => {
        const key = crypto.randomUUID();
        sources.current.set(key, { file, idempotencyKey: key, abort: new AbortController() });
        return { key, name: file.name, bytes: file.size, attachment: null, error: null };
      });
      setFiles((before) => [...before, ...added]);
      for (const { key } of added) void upload(key);
    },
    remove(key: string): void {
      sources.current.get(key)?.abort.abort();
      sources.current.delete(key);
      setFiles((before) => before.filter((one) => one.key !== key));
    },
    again: (key: string) => void upload(key),
    clear(): void {
      sources.current.clear();
      setFiles([]);
    },
    isReady: files.every(({ attachment }) => attachment !== null),
  };
}
