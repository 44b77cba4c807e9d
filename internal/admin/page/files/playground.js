// The same traffic through every algorithm, decided by the server's own code in
// virtual time.
import { at, el, table } from './dom.js';
import { bars } from './chart.js';
import { post } from './api.js';
import { remember } from './main.js';

const form = at('limit');
const cursor = at('cursor');
const steps = 120;
let result = null;
let playing = null;
let asked = 0;
const figures = new Map();

function config() {
  const f = new FormData(form);
  const millis = (name) => Math.round(Number(f.get(name)) * 1000);
  return {
    amount: Number(f.get('amount')), window_ms: millis('window'), burst: Number(f.get('burst')), refill_interval_ms: millis('refill'),
    duration_ms: millis('duration'), traffic: f.get('traffic'), per_second: Number(f.get('rate')),
    own: f.get('traffic') === 'own' ? f.get('own').split(',').filter((t) => t.trim() !== '').map((t) => Math.round(Number(t) * 1000)) : [],
  };
}

/** A figure for each algorithm, made once. */
function figureOf(name) {
  if (!figures.has(name)) {
    const caption = el('figcaption', {});
    const plot = el('div', {});
    at('charts').append(el('figure', { 'data-algorithm': name }, plot, caption));
    figures.set(name, { caption, draw: bars(plot, 110) });
  }
  return figures.get(name);
}

const sum = (list, until) => list.slice(0, until).reduce((total, n) => total + n, 0);

function show() {
  const until = Number(cursor.value);
  at('clock').textContent = `${((until * result.step_ms) / 1000).toFixed(1)} s`;
  const possible = result.algorithms.filter((a) => !a.problem);
  const most = Math.max(1, ...possible.flatMap((a) => [...a.steps_allowed, ...a.steps_denied]));
  const times = result.algorithms[0].steps_allowed.map((_, i) => (i * result.step_ms) / 1000);
  for (const a of result.algorithms) {
    const { caption, draw } = figureOf(a.name);
    const shown = (list) => list.map((n, i) => (i < until ? n : 0));
    const told = a.problem ? ` ${a.problem}` : ` ${sum(a.steps_allowed, until)} allowed, ${sum(a.steps_denied, until)} denied`;
    draw(a.name + told, times, shown(a.steps_allowed), shown(a.steps_denied), most);
    caption.replaceChildren(el('strong', {}, a.name), told);
  }
  const amount = Number(new FormData(form).get('amount'));
  at('compared').replaceChildren(el('h3', {}, 'Compared'), table([
    ['Algorithm', (a) => a.name], ['Allowed', (a) => (a.problem ? '' : String(a.allowed)), true], ['Denied', (a) => (a.problem ? '' : String(a.denied)), true],
    ['Most in any window', (a) => (a.problem ? '' : el('span', { class: a.most_in_window > amount ? 'bad' : 'good' }, String(a.most_in_window))), true],
    ['Of the amount', (a) => a.problem ?? `${Math.round((100 * a.most_in_window) / amount)} %`],
  ], result.algorithms, ''));
}

async function run() {
  asked += 1;
  const mine = asked;
  remember(form, 'playground');
  try {
    const answer = await post('playground', config());
    if (mine !== asked) return; // a newer one is on its way
    result = answer;
    at('playground-problem').textContent = '';
    show();
  } catch (failure) {
    at('playground-problem').textContent = failure.message;
  }
}

function play(on) {
  clearInterval(playing);
  playing = null;
  at('play').textContent = on ? 'Pause' : 'Play';
  if (!on) return;
  if (Number(cursor.value) >= steps) cursor.value = 0;
  const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
  playing = setInterval(() => {
    cursor.value = Number(cursor.value) + (calm ? 10 : 1);
    if (result) show();
    if (Number(cursor.value) >= steps) play(false);
  }, calm ? 500 : 50);
}

form.addEventListener('input', run);
form.addEventListener('submit', (event) => event.preventDefault());
cursor.addEventListener('input', () => { play(false); if (result) show(); });
at('play').addEventListener('click', () => play(!playing));
at('step').addEventListener('click', () => {
  play(false);
  cursor.value = Number(cursor.value) >= steps ? 0 : Number(cursor.value) + 1;
  if (result) show();
});

export const enter = run;

export function leave() { play(false); }
