/** A document that belongs to a skill; wire names, because views show it as it stands. */
export interface StoredReferenceDoc {
  /** Relative path. */
  readonly name: string;
  readonly media_type: string;
  readonly size_chars: number;
  /** SHA-256 of the content in UTF-8, hexadecimal. */
  readonly sha256: string;
  readonly content: string;
}
