import pg from 'pg';

/** A statement with its values as they are sent. */
export interface PreparedStatement {
  readonly sql: string;
  readonly values: readonly (string | Buffer | null)[];
  /** The name under which PostgreSQL keeps the statement's plan with the connection; undefined: the plan is not kept. */
  readonly name: string | undefined;
}

/** The result of a statement. */
export type Answer = Pick<pg.QueryResult, 'command' | 'rowCount' | 'rows'>;

/** A statement of a batch; without `onAnswer` its result is not read. */
export interface BatchPart extends PreparedStatement {
  readonly onAnswer: ((answer: Answer) => void) | null;
}

/** The methods of the protocol's writer that we use. */
interface Wire {
  readonly parsedStatements: Record<string, string>;
  parse(message: { text: string; name?: string }): void;
  close(message: { type: 'S'; name: string }): void;
  bind(message: object): void;
  describe(message: { type: 'P'; name: string }): void;
  execute(message: object): void;
  sync(): void;
}

/** The shape of a statement's rows, as pg's result stores it. */
interface RowShape {
  fields: unknown;
  /** Parsers for the text of each column. */
  _parsers: unknown;
  /** The object from which each row is built. */
  _prebuiltEmptyResultObject: unknown;
}

declare module 'pg' {
  // Members that the class has but its types omit.
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

/** Names that a failed batch may or may not have registered with the server, by connection. */
const unsureNames = new WeakMap<Wire, Set<string>>();

/**
 * Row shapes of the statements that a server knows by name, by connection and text: a description of many columns costs more to read than the row.
 * PostgreSQL refuses to run such a statement once its shape would change (“cached plan must not change result type”). Null: it returns no rows.
 */
const knownShapes = new WeakMap<Wire, Map<string, RowShape | null>>();

/**
 * Statements in one batch of the extended protocol (PostgreSQL's documentation, “Pipelining” in its chapter on the protocol): sent at once, ended by one
 * Sync. If one fails, all after it fail too: then `onEnd` gets the error and no statement is answered. Otherwise each statement gets its answer, in order,
 * and `onEnd` gets null.
 */
export class Batch extends pg.Query {
  readonly parts: readonly BatchPart[];
  /** Index of the part whose answer is arriving. */
  #at = 0;
  #connection: Wire | null = null;
  /** Row shapes of the parts that are not described, by index. */
  readonly #shapes = new Map<number, RowShape | null>();
  /** The rows of the part whose answer is arriving already have a shape. */
  #isShaped = false;
  /** Names that the server learns from this batch, with the part that teaches each. */
  readonly #taught = new Map<string, { readonly index: number; readonly text: string }>();

  constructor(parts: readonly BatchPart[], onEnd: (fault: Error | null) => void) {
    super(parts.at(-1)?.sql ?? '', [], (fault: Error | undefined, results: unknown) => {
      this.#confirm();
      if (fault) return onEnd(this.#named(fault));
      try {
        // pg's own results of the parts that are read: a single one, or a list.
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

  /** Does what pg does with a row description, using the known shape. */
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

  /** Returns the name under which the server then has the statement; undefined: as the unnamed statement. */
  #parse(connection: Wire, { name, sql: text }: BatchPart, index: number): string | undefined {
    if (name === undefined) {
      connection.parse({ text });
      return undefined;
    }
    const isUnsure = unsureNames.get(connection)?.delete(name) ?? false;
    const held = this.#taught.get(name)?.text ?? connection.parsedStatements[name];
    if (held === text && !isUnsure) return name;

    // Closing an unknown name is not an error.
    if (isUnsure || held !== undefined) connection.close({ type: 'S', name });
    if (held !== undefined) knownShapes.get(connection)?.delete(held);
    knownShapes.get(connection)?.delete(text);
    Reflect.deleteProperty(connection.parsedStatements, name);
    connection.parse({ text, name });
    this.#taught.set(name, { index, text });
    return name;
  }

  /**
   * Names from parts before a failed one are certainly known. The failed part's own name may be, and names from later parts may still mean what they meant
   * before.
   */
  #confirm(): void {
    const connection = this.#connection;
    if (!connection) return;
    for (const [name, { index, text }] of this.#taught) {
      if (index < this.#at) connection.parsedStatements[name] = text;
      else unsureNames.set(connection, (unsureNames.get(connection) ?? new Set()).add(name));
    }
  }

  /** Adds the statement that failed, since the stack may lead to the caller of another one. Never adds a statement with its values in the text. */
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
