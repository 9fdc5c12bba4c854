import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { useLayoutEffect, useRef, useState, type ReactNode } from 'react';
import styles from './data-grid.module.css';

export interface Column<Row> {
  readonly id: string;
  readonly title: string;
  readonly cell: (row: Row) => ReactNode;
  readonly align?: 'end';
}

interface DataGridProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** Widths of the columns, as `grid-template-columns` has them. */
  readonly className?: string;
}

const rowPx = 37;

/** A table of any length: only what is near the window is in the page. Below 640 px each row becomes a card, with the titles in front of the values. */
export function DataGrid<Row extends { readonly id: string }>({ label, columns, rows, className = '' }: DataGridProps<Row>) {
  const body = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => setTop(body.current?.offsetTop ?? 0), [rows.length > 0]);
  const virtualizer = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => rowPx,
    overscan: 12,
    scrollMargin: top,
    getItemKey: (index) => rows[index]?.id ?? index,
  });

  return (
    <div role="table" aria-label={label} aria-rowcount={rows.length + 1} className={`${styles.grid} ${className}`}>
      <div role="rowgroup">
        <div role="row" aria-rowindex={1} className={styles.head}>
          {columns.map(({ id, title, align }) => (
            <span key={id} role="columnheader" data-align={align}>
              {title}
            </span>
          ))}
        </div>
      </div>
      <div role="rowgroup" ref={body} className={styles.body} style={{ blockSize: virtualizer.getTotalSize() }}>
        {virtualizer.getVirtualItems().map((item) => {
          const row = rows[item.index];
          if (row === undefined) return null;
          return (
            <div
              key={item.key}
              ref={virtualizer.measureElement}
              data-index={item.index}
              role="row"
              aria-rowindex={item.index + 2}
              className={styles.row}
              style={{ transform: `translateY(${item.start - virtualizer.options.scrollMargin}px)` }}
            >
              {columns.map(({ id, title, cell, align }) => (
                <span key={id} role="cell" data-title={title} data-column={id} data-align={align}>
                  {cell(row)}
                </span>
              ))}
            </div>
          );
        })}
      </div>
    </div>
  );
}
