/** A document of a skill; wire names, because views show it unchanged. */
export interface StoredReferenceDoc {
  /** Relative path. */
  readonly name: string;
  readonly media_type: string;
  /** For a binary file: its bytes. */
  readonly size_chars: number;
  /** SHA-256 of the content in UTF-8, hexadecimal. */
  readonly sha256: string;
  /** Null: the document is a file. */
  readonly content: string | null;
  /** For a document that is a file: the attachment with its bytes. Its hash is that of the bytes. */
  readonly attachment_id?: string;
}
