import { useEffect, useRef } from 'react';
import UPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { PlotSeries } from './groups.ts';
import styles from './plot.module.css';

interface PlotProps {
  /** What it shows, for those who don't see it; the table beside it has the numbers. */
  readonly label: string;
  readonly data: PlotSeries;
  readonly names: readonly string[];
}

const heightPx = 220;
/** Lines differ by their dashes too. */
const dashes = [[], [8, 4], [2, 3], [10, 3, 2, 3], [], [8, 4], [2, 3], [10, 3, 2, 3]];
const colours = ['--accent', '--good', '--warn', '--bad', '--live', '--ink-soft', '--ink', '--line-strong'];

/** Cost by day, a line per group. Styles are set on elements, never as elements, so the policy lets it be. */
export function Plot({ label, data, names }: PlotProps) {
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const draw = () => new UPlot(optionsFor(element, names), toRows(data), element);
    let plot = draw();
    const redraw = () => {
      plot.destroy();
      plot = draw();
    };
    let width = element.clientWidth;
    const watch = new ResizeObserver(() => {
      if (element.clientWidth === width) return;
      width = element.clientWidth;
      plot.setSize({ width, height: heightPx });
    });
    watch.observe(element);
    // colours are drawn, not styled
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', redraw);
    return () => {
      watch.disconnect();
      scheme.removeEventListener('change', redraw);
      plot.destroy();
    };
  }, [data, names]);
  return <div ref={frame} role="img" aria-label={label} className={styles.plot} />;
}

function toRows({ days, series }: PlotSeries): UPlot.AlignedData {
  return [[...days], ...series.map(({ costs }) => [...costs])];
}

function optionsFor(element: HTMLElement, names: readonly string[]): UPlot.Options {
  const style = getComputedStyle(element);
  const ink = colourOf(element, '--ink-soft');
  const line = colourOf(element, '--line');
  const font = `12px ${style.fontFamily}`;
  const axis: UPlot.Axis = { stroke: ink, font, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
  return {
    width: element.clientWidth,
    height: heightPx,
    cursor: { drag: { x: false, y: false } },
    legend: { show: names.length > 1 },
    // days of the zone that the reader chose: they stand at midnight UTC
    tzDate: (seconds) => UPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC'),
    axes: [axis, { ...axis, size: 64, values: (_, ticks) => ticks.map((tick) => String(Number(tick.toPrecision(6)))) }],
    series: [
      { label: '' },
      ...names.map((label, index) => ({
        label,
        stroke: colourOf(element, colours[index] ?? '--accent'),
        dash: dashes[index] ?? [],
        width: 1.5,
        points: { show: true, size: 4 },
      })),
    ],
  };
}

/** A token as the colour that it stands for now: `light-dark()` means nothing to a canvas. */
function colourOf(element: HTMLElement, token: string): string {
  element.style.setProperty('color', `var(${token})`);
  const colour = getComputedStyle(element).color;
  element.style.removeProperty('color');
  return colour;
}
