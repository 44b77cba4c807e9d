// Small pieces for building what is shown. Text only ever becomes text nodes: a
// descriptor may hold anything.

/** @param {string} id */
export const at = (id) => document.getElementById(id);

/** Makes an element; attributes that are null or false are left out. */
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** A table of columns [heading, cell of a row, is a number]; says so if there is no row. */
export function table(columns, rows, none) {
  if (rows.length === 0) return el('p', { class: 'quiet' }, none);
  return el('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': columns[0][0] },
    el('table', {},
      el('thead', {}, el('tr', {}, ...columns.map(([heading, , number]) => el('th', { scope: 'col', class: number ? 'number' : null }, heading)))),
      el('tbody', {}, ...rows.map((row) => el('tr', {}, ...columns.map(([, cell, number]) => el('td', { class: number ? 'number' : null }, cell(row))))))));
}

/** A duration of microseconds for people. */
export function wait(micros) {
  if (micros < 1000) return `${micros} µs`;
  if (micros < 1e6) return `${Math.ceil(micros / 1000)} ms`;
  const seconds = Math.ceil(micros / 1e6);
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.ceil(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.ceil(seconds / 3600)} h`;
  return `${Math.ceil(seconds / 86400)} days`;
}

/** A bar of what remains, which also says it. */
export function fill(remaining, capacity) {
  const share = el('span', {}, el('meter', { min: 0, max: Math.max(1, capacity), value: remaining, 'aria-label': 'remaining' }), ` ${remaining} of ${capacity}`);
  return share;
}
