// Bars of what was allowed, above a line, and of what was denied, below it.
import uPlot from './vendor/uPlot.esm.js';

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/**
 * A chart in an element. Its label says in words what it shows; set gives it other
 * times and counts.
 */
export function bars(parent, height) {
  const series = (name) => ({ fill: () => colour(name), width: 0, paths: uPlot.paths.bars({ size: [0.85] }), points: { show: false } });
  let most = 1;
  const chart = new uPlot({
    width: Math.max(200, parent.clientWidth), height, legend: { show: false }, cursor: { show: false },
    scales: { x: { time: false }, y: { range: () => [-most, most] } },
    axes: [
      { stroke: () => colour('--quiet'), grid: { stroke: () => colour('--line'), width: 1 }, ticks: { show: false }, size: 24, values: (_, all) => all.map((s) => `${s} s`) },
      { show: false },
    ],
    series: [{}, series('--good'), series('--bad')],
  }, [[0], [0], [0]], parent);
  parent.setAttribute('role', 'img');
  new ResizeObserver(() => chart.setSize({ width: Math.max(200, parent.clientWidth), height })).observe(parent);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => chart.redraw());
  return (label, times, allowed, denied, scale) => {
    most = Math.max(1, scale ?? 0, ...allowed, ...denied);
    parent.setAttribute('aria-label', label);
    chart.setData([times, allowed, denied.map((n) => -n)]);
  };
}
