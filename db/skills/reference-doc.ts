/** A document that belongs to a skill; wire names, because views show it as it stands. */
export interface StoredReferenceDoc {
  /** Relative path. */
  readonly name: string;
  readonly media_type: string;
  /** Of a file that is no text: its bytes. */
  readonly size_chars: number;
  /** SHA-256 of the content in UTF-8, hexadecimal. */
  readonly sha256: string;
  /** Null: the document is a file. */
  readonly content: string | null;
  /** Of a document that is a file: where its bytes are. Its hash is that of the bytes. */
  readonly attachment_id?: string;
}
