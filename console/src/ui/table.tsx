import type { Column } from './data-grid.tsx';
import styles from './table.module.css';

interface TableProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
}

/** A table of a few hundred rows at most, whose cells may hold controls. Below 640 px each row becomes a card, with the titles in front of the values. */
export function Table<Row>({ label, columns, rows, keyOf }: TableProps<Row>) {
  return (
    <table className={styles.table} aria-label={label}>
      <thead>
        <tr>
          {columns.map(({ id, title, align }) => (
            <th key={id} scope="col" data-align={align}>
              {title === '' ? <span className="hidden">{label}</span> : title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)}>
            {columns.map(({ id, title, cell, align }) => (
              <td key={id} data-title={title} data-align={align}>
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
