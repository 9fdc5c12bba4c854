import { Button } from 'react-aria-components';
import { t } from '../messages/en.ts';
import { Fault } from '../ui/notice.tsx';
import styles from './playground.module.css';
import type { UploadedFile } from './use-uploads.ts';

interface FileChipsProps {
  readonly files: readonly UploadedFile[];
  readonly onRemove: (key: string) => void;
  readonly onRetry: (key: string) => void;
}

/** The files that go along with the next message. */
export function FileChips({ files, onRemove, onRetry }: FileChipsProps) {
  if (files.length === 0) return null;
  return (
    <ul className={styles.files} aria-label={t.playground.files}>
      {files.map(({ key, name, attachment, error }) => (
        <li key={key}>
          <span className={styles.chip}>
            {name}
            <span className="hint" role="status">
              {error !== null ? t.playground.notUploaded : attachment === null ? t.playground.uploading : t.playground.uploaded}
            </span>
            <Button className="react-aria-Button quiet" aria-label={t.playground.removeFile(name)} onPress={() => onRemove(key)}>
              ✕
            </Button>
          </span>
          {error !== null && <Fault error={error} onRetry={() => onRetry(key)} />}
        </li>
      ))}
    </ul>
  );
}
