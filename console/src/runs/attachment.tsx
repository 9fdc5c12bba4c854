import { useEffect, useState } from 'react';
import { Button } from 'react-aria-components';
import { api } from '../app/api.ts';
import { Fault } from '../ui/notice.tsx';
import { saveFile } from '../ui/save-file.ts';
import { t as own } from './messages.ts';
import styles from './run.module.css';

interface FileRef {
  readonly attachment_id: string;
  readonly media_type: string;
  readonly name: string;
  readonly bytes: number;
}

/** What a browser draws without running anything; an SVG can hold script. */
const rasterTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/bmp'];
const shownAtMost = 20 * 1024 * 1024;
const textAtMost = 1024 * 1024;

type Shown = { readonly kind: 'image'; readonly url: string } | { readonly kind: 'text'; readonly text: string };

/** A file of a run: raster images and plain text are shown on demand, everything else can only be saved. */
export function Attachment({ file }: { readonly file: FileRef }) {
  const [shown, setShown] = useState<Shown | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const isImage = rasterTypes.includes(file.media_type) && file.bytes <= shownAtMost;
  const isText = file.media_type === 'text/plain' && file.bytes <= textAtMost;
  useEffect(() => {
    if (shown?.kind === 'image') return () => URL.revokeObjectURL(shown.url);
    return undefined;
  }, [shown]);

  const read = async (take: (bytes: Blob) => Promise<void> | void) => {
    setBusy(true);
    setError(null);
    try {
      const answer = await api.getAttachment({ attachment_id: file.attachment_id });
      await take(await answer.blob());
    } catch (thrown) {
      setError(thrown);
    } finally {
      setBusy(false);
    }
  };
  const show = () =>
    read(async (bytes) =>
      // The type is ours, so that the bytes are nothing else, whatever they hold.
      setShown(
        isImage
          ? { kind: 'image', url: URL.createObjectURL(new Blob([bytes], { type: file.media_type })) }
          : { kind: 'text', text: await bytes.text() },
      ),
    );
  return (
    <figure className={styles.file}>
      <figcaption className="actions">
        <span>
          {file.name} <span className="hint">{own.files.bytes(file.bytes)}</span>
        </span>
        {(isImage || isText) && shown === null && (
          <Button isPending={isBusy} onPress={() => void show()} aria-label={`${own.files.show}: ${file.name}`}>
            {own.files.show}
          </Button>
        )}
        <Button
          className="react-aria-Button quiet"
          isPending={isBusy}
          onPress={() => void read((bytes) => saveFile(file.name, bytes))}
          aria-label={`${own.files.download}: ${file.name}`}
        >
          {own.files.download}
        </Button>
      </figcaption>
      {error !== null && <Fault error={error} />}
      {shown?.kind === 'image' && <img src={shown.url} alt={file.name} />}
      {shown?.kind === 'text' && (
        <pre className={styles.partial} tabIndex={0} role="region" aria-label={file.name}>
          {shown.text}
        </pre>
      )}
    </figure>
  );
}
