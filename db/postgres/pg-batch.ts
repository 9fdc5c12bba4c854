import pg from 'pg';

/** A statement with its values as they are sent. */
export interface PreparedStatement {
  readonly sql: string;
  readonly values: readonly (string | Buffer | null)[];
  /** Under which PostgreSQL keeps its plan with the connection; undefined: it does not. */
  readonly name: string | undefined;
}

/** What a statement gave. */
export type Answer = Pick<pg.QueryResult, 'command' | 'rowCount' | 'rows'>;

/** A statement of a batch; without `onAnswer` nobody reads what it gives. */
export interface BatchPart extends PreparedStatement {
  readonly onAnswer: ((answer: Answer) => void) | null;
}

/** What we use of the protocol's writer. */
interface Wire {
  readonly parsedStatements: Record<string, string>;
  parse(message: { text: string; name?: string }): void;
  close(message: { type: 'S'; name: string }): void;
  bind(message: object): void;
  describe(message: { type: 'P'; name: string }): void;
  execute(message: object): void;
  sync(): void;
}

/** What the rows of a statement look like, as pg's result keeps it. */
interface RowShape {
  fields: unknown;
  /** Of the text of each column. */
  _parsers: unknown;
  /** What each row begins as. */
  _prebuiltEmptyResultObject: unknown;
}

declare module 'pg' {
  // What the class has, and its types leave out.
  interface Query {
    queryMode: 'extended' | undefined;
    _result: RowShape;
    _accumulateRows: boolean;
    _checkForMultirow(): void;
    handleRowDescription(message: unknown): void;
    prepare(connection: Wire): void;
    handleDataRow(message: unknown): void;
    handleCommandComplete(message: unknown, connection: unknown): void;
  }
}

/** Names that a failed batch may or may not have made known to the server, by connection. */
const unsureNames = new WeakMap<Wire, Set<string>>();

/**
 * What the statements that a server knows by name give, by connection and text: a description of many columns costs more to read than the row. PostgreSQL
 * refuses to run such a statement once it would give anything else (“cached plan must not change result type”). Null: it gives no rows.
 */
const knownShapes = new WeakMap<Wire, Map<string, RowShape | null>>();

/**
 * Statements in one batch of the extended protocol (PostgreSQL's documentation, “Pipelining” in its chapter on the protocol): sent at once, ended by
 * one Sync. The first that fails takes all behind it along: then `onEnd` gets its fault and nothing is answered. Else each gets its answer, in
 * order, and `onEnd` null.
 */
export class Batch extends pg.Query {
  readonly parts: readonly BatchPart[];
  /** The part whose answer comes now. */
  #at = 0;
  #connection: Wire | null = null;
  /** Of the parts that are not described: their rows. */
  readonly #shapes = new Map<number, RowShape | null>();
  /** Rows of the part whose answer comes now have a shape. */
  #isShaped = false;
  /** Names that the server learns with it, and by which part. */
  readonly #taught = new Map<string, { readonly index: number; readonly text: string }>();

  constructor(parts: readonly BatchPart[], onEnd: (fault: Error | null) => void) {
    super(parts.at(-1)?.sql ?? '', [], (fault: Error | undefined, results: unknown) => {
      this.#confirm();
      if (fault) return onEnd(this.#named(fault));
      try {
        // pg's own results, of the parts that are read: one, or a list.
        this.#answer([results].flat() as Answer[]);
      } catch (error) {
        return onEnd(error instanceof Error ? error : new Error('an answer was not taken', { cause: error }));
      }
      onEnd(null);
    });
    this.queryMode = 'extended';
    this.parts = parts;
  }

  override prepare(connection: Wire): void {
    this.#connection = connection;
    for (const [index, part] of this.parts.entries()) {
      const name = this.#parse(connection, part, index);
      connection.bind({ statement: name, values: part.values });
      const shape = name === undefined || this.#taught.has(name) ? undefined : knownShapes.get(connection)?.get(part.sql);
      if (shape !== undefined) this.#shapes.set(index, shape);
      else if (part.onAnswer) connection.describe({ type: 'P', name: '' });
      connection.execute({});
    }
    connection.sync();
  }

  override handleRowDescription(message: unknown): void {
    super.handleRowDescription(message);
    this.#isShaped = true;
    const { fields, _parsers, _prebuiltEmptyResultObject } = this._result;
    this.#keepShape({ fields, _parsers, _prebuiltEmptyResultObject });
  }

  override handleDataRow(message: unknown): void {
    if (!this.parts[this.#at]?.onAnswer) return;
    if (!this.#isShaped) this.#takeShape();
    super.handleDataRow(message);
  }

  override handleCommandComplete(message: unknown, connection: unknown): void {
    if (this.parts[this.#at]?.onAnswer) {
      if (!this.#isShaped && !this.#shapes.has(this.#at)) this.#keepShape(null);
      super.handleCommandComplete(message, connection);
    }
    this.#at += 1;
    this.#isShaped = false;
  }

  /** Does what pg does with a description, with the one that is known. */
  #takeShape(): void {
    this._checkForMultirow();
    Object.assign(this._result, this.#shapes.get(this.#at));
    this._accumulateRows = true;
    this.#isShaped = true;
  }

  #keepShape(shape: RowShape | null): void {
    const part = this.parts[this.#at];
    const connection = this.#connection;
    if (part?.name === undefined || !connection) return;
    const shapes = knownShapes.get(connection) ?? new Map<string, RowShape | null>();
    knownShapes.set(connection, shapes.set(part.sql, shape));
  }

  /** Gives the name under which the server has the statement then; undefined: as the one without a name. */
  #parse(connection: Wire, { name, sql: text }: BatchPart, index: number): string | undefined {
    if (name === undefined) {
      connection.parse({ text });
      return undefined;
    }
    const isUnsure = unsureNames.get(connection)?.delete(name) ?? false;
    const held = this.#taught.get(name)?.text ?? connection.parsedStatements[name];
    if (held === text && !isUnsure) return name;

    // No fault for a name that is not known.
    if (isUnsure || held !== undefined) connection.close({ type: 'S', name });
    if (held !== undefined) knownShapes.get(connection)?.delete(held);
    knownShapes.get(connection)?.delete(text);
    Reflect.deleteProperty(connection.parsedStatements, name);
    connection.parse({ text, name });
    this.#taught.set(name, { index, text });
    return name;
  }

  /** Names of the parts before a failed one are known for sure; its own may be, and those behind it may still be what they were before. */
  #confirm(): void {
    const connection = this.#connection;
    if (!connection) return;
    for (const [name, { index, text }] of this.#taught) {
      if (index < this.#at) connection.parsedStatements[name] = text;
      else unsureNames.set(connection, (unsureNames.get(connection) ?? new Set()).add(name));
    }
  }

  /** With the statement that failed, since the stack is that of one who asked for another. Never one with its values in the text. */
  #named(fault: Error): Error {
    const failed = this.parts[this.#at];
    return failed && failed.values.length > 0 ? Object.assign(fault, { statement: failed.sql.trim().slice(0, 120) }) : fault;
  }

  #answer(results: readonly Answer[]): void {
    const read = this.parts.flatMap(({ onAnswer }) => (onAnswer ? [onAnswer] : []));
    if (results.length !== read.length) throw new Error(`${read.length} statements gave ${results.length} answers`);
    for (const [index, onAnswer] of read.entries()) {
      const answer = results[index];
      if (answer) onAnswer(answer);
    }
  }
}
