// The same traffic through every algorithm, decided by the server's own code in
// virtual time.
import { at, el, svg, table } from './dom.js';
import { post } from './api.js';
import { remember } from './main.js';

const form = at('limit');
const cursor = at('cursor');
const steps = 120;
let result = null;
let playing = null;
let asked = 0;

function config() {
  const f = new FormData(form);
  const millis = (name) => Math.round(Number(f.get(name)) * 1000);
  return {
    amount: Number(f.get('amount')), window_ms: millis('window'), burst: Number(f.get('burst')), refill_interval_ms: millis('refill'),
    duration_ms: millis('duration'), traffic: f.get('traffic'), per_second: Number(f.get('rate')),
    own: f.get('traffic') === 'own' ? f.get('own').split(',').filter((t) => t.trim() !== '').map((t) => Math.round(Number(t) * 1000)) : [],
  };
}

function chart(a, most, until) {
  const bars = [];
  a.steps_allowed.forEach((n, i) => {
    const later = i >= until ? ' later' : '';
    const up = (n / most) * 38;
    const down = (a.steps_denied[i] / most) * 38;
    if (n > 0) bars.push(svg('rect', { class: `allowed${later}`, x: i * 5, y: 40 - up, width: 4, height: up }));
    if (down > 0) bars.push(svg('rect', { class: `denied${later}`, x: i * 5, y: 40, width: 4, height: down }));
  });
  return svg('svg', { viewBox: '0 0 600 80', role: 'img', 'aria-label': `${a.name}: ${a.allowed} allowed above the line, ${a.denied} denied below` },
    svg('line', { x1: 0, x2: 600, y1: 40, y2: 40 }), ...bars);
}

const sum = (list, until) => list.slice(0, until).reduce((total, n) => total + n, 0);

function show() {
  const until = Number(cursor.value);
  at('clock').textContent = `${((until * result.step_ms) / 1000).toFixed(1)} s`;
  const possible = result.algorithms.filter((a) => !a.problem);
  const most = Math.max(1, ...possible.flatMap((a) => [...a.steps_allowed, ...a.steps_denied]));
  at('charts').replaceChildren(...possible.map((a) => el('figure', { 'data-algorithm': a.name }, chart(a, most, until),
    el('figcaption', {}, el('strong', {}, a.name), ` ${sum(a.steps_allowed, until)} allowed, ${sum(a.steps_denied, until)} denied`))));
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
