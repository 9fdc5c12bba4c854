/** What is kept of a delivery until it is applied; ids, shas and what filters look at. Texts are dropped then. */
export interface ReviewFacts {
  readonly head_sha?: string;
  readonly base_ref?: string;
  readonly head_ref?: string;
  readonly is_draft?: boolean;
  readonly is_fork?: boolean;
  readonly is_merged?: boolean;
  /** `edited` moved it onto another branch. */
  readonly is_base_changed?: boolean;
  /** Who did it is our own App. */
  readonly is_own?: boolean;
  readonly title?: string;
  readonly labels?: readonly string[];
  readonly author?: string;
  readonly sender?: string;
  /** A comment of the conversation, or of a line. */
  readonly comment?: {
    readonly id: number;
    readonly kind: 'issue' | 'review';
    readonly in_reply_to: number | null;
    /** Null: it commands nothing. */
    readonly command: { readonly name: string; readonly argument: string | null; readonly text_sha256: string } | null;
  };
  readonly thread_node_id?: string;
  /** Ids of the comments of a thread. */
  readonly comment_ids?: readonly number[];
  readonly review_id?: number;
  readonly check_external_id?: string;
  readonly check_action?: string;
  /** The repository's name as it is now. */
  readonly repo_full_name?: string;
  /** Repositories that were taken out of an installation. */
  readonly removed_repo_ids?: readonly number[];
}
