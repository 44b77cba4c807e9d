// What is decided now.
import { at, el, table, fill, wait } from './dom.js';
import { bars } from './chart.js';
import { events } from './api.js';

const history = [];
const kept = 60;
let watching = null;
let paused = false;
let draw = null;

/** The last half minute: allowed up, denied down. */
function spark() {
  draw ??= bars(at('spark'), 110);
  const nothing = Array(kept - history.length).fill(0); // so that the axis stands still
  const allowed = [...nothing, ...history.map((s) => s.allowed)];
  const denied = [...nothing, ...history.map((s) => s.denied + s.shadow_denied)];
  const sum = (list) => list.reduce((total, n) => total + n, 0);
  draw(`Of the last half minute: ${sum(allowed)} allowed, ${sum(denied)} denied`, allowed.map((_, i) => (i - kept + 1) / 2), allowed, denied);
}

function figure(name, count, seconds, kind) {
  return el('span', {}, el('strong', { class: kind }, (count / seconds).toFixed(count / seconds < 10 ? 1 : 0)), ` ${name} a second`);
}

/** A rule's label, with its domain where it does not begin with it. */
const rule = (r) => el('span', { title: r.place }, r.rule.startsWith(`${r.domain}/`) ? r.rule : `${r.domain}: ${r.rule}`, r.shadow ? ' (shadow)' : '');

function show(s) {
  history.push(s);
  if (history.length > kept) history.shift();
  if (paused) return;
  at('totals').replaceChildren(
    figure('allowed', s.allowed, s.seconds, 'good'), figure('denied', s.denied, s.seconds, 'bad'),
    figure('denied in shadow', s.shadow_denied, s.seconds), figure('by policy, without the store', s.by_policy, s.seconds));
  spark();
  at('live-rules').replaceChildren(table([
    ['Rule', rule],
    ['Denied', (r) => String(r.denied), true], ['Allowed', (r) => String(r.allowed), true],
  ], s.rules, 'No limit was met.'));
  at('live-hot').replaceChildren(table([
    ['Value', (b) => b.value], ['Hits', (b) => String(b.hits), true], ['Denied', (b) => String(b.denied), true],
    ['Remaining', (b) => fill(b.remaining, b.capacity)],
  ], s.hot, 'No limit was met.'));
  if (s.denials.length > 0 || at('live-denials').childElementCount === 0) {
    at('live-denials').replaceChildren(table([
      ['At', (d) => new Date(d.at).toLocaleTimeString()], ['Rule', rule],
      ['Value', (d) => d.value], ['Why', (d) => why(d)], ['Room in', (d) => wait(d.reset_micros), true],
    ], s.denials.slice(0, 20), 'Nothing was denied yet.'));
  }
}

function why(d) {
  if (d.policy) return `the store did not answer: on_store_error ${d.policy}`;
  const cost = `a cost of ${d.hits}, ${d.remaining} of ${d.capacity} left`;
  return d.shadow ? `${cost} (shadow: let through)` : cost;
}

async function watch(signal) {
  while (!signal.aborted) {
    try {
      await events('events?every=500ms', signal, show);
    } catch (failure) {
      if (!signal.aborted) at('totals').replaceChildren(`No answer: ${failure.message}`);
    }
    await new Promise((done) => { setTimeout(done, 1000); });
  }
}

at('pause').addEventListener('click', () => {
  paused = !paused;
  at('pause').setAttribute('aria-pressed', String(paused));
});

export function enter() {
  watching = new AbortController();
  watch(watching.signal);
}

export function leave() { watching?.abort(); }
