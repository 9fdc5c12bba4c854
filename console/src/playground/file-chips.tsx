import { Button } from 'react-aria-components';
import { Fault } from '../ui/notice.tsx';
import { t as own } from './messages.ts';
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
    <ul className={styles.files} aria-label={own.files}>
      {files.map(({ key, name, attachment, error }) => (
        <li key={key}>
          <span className={styles.chip}>
            {name}
            <span className="hint" role="status">
              {error !== null ? own.notUploaded : attachment === null ? own.uploading : own.uploaded}
            </span>
            <Button className="react-aria-Button quiet" aria-label={own.removeFile(name)} onPress={() => onRemove(key)}>
              ✕
            </Button>
          </span>
          {error !== null && <Fault error={error} onRetry={() => onRetry(key)} />}
        </li>
      ))}
    </ul>
  );
}
