// The rules in force, and what the newest load found.
import { at, el, table } from './dom.js';
import { get, post } from './api.js';

let loaded = null;

function rate(l) {
  if (l.unlimited) return 'unlimited';
  return `${l.requests_per_unit} a ${l.unit_multiplier > 1 ? `${l.unit_multiplier} ` : ''}${l.unit}`;
}

function flags(l) {
  return [l.shadow_mode && 'shadow', l.quota_mode && 'quota', l.burst && l.burst !== l.requests_per_unit && `burst ${l.burst}`,
    l.denied_hits && l.denied_hits !== 'auto' && `denied hits ${l.denied_hits}`, l.on_store_error && `store fails: ${l.on_store_error}`]
    .filter(Boolean).join(', ');
}

function show() {
  const wanted = at('filter').value.toLowerCase();
  const rows = loaded.in_force.filter((l) => `${l.path} ${l.name ?? ''} ${l.place} ${l.algorithm ?? ''}`.toLowerCase().includes(wanted));
  at('rules-state').replaceChildren(el('p', {},
    `Generation ${loaded.generation}: ${loaded.limits} limits of ${loaded.domains} domains, `,
    el('span', { class: loaded.result === 'success' ? 'good' : 'bad' }, loaded.result || 'not loaded yet'), '. ',
    loaded.rejected.length > 0 ? el('strong', { class: 'bad' }, `In error, last good rules stay: ${loaded.rejected.join(', ')}`) : ''));
  at('diagnostics').replaceChildren(...loaded.diagnostics.map((d) => el('p', { class: d.severity === 'error' ? 'bad' : 'quiet' },
    `${d.file}:${d.line ?? 0}:${d.col ?? 0}: ${d.severity}: ${d.message}${d.hint ? ` (${d.hint})` : ''}`)), ...loaded.held.map((h) => el('p', { class: 'bad' }, h)));
  at('in-force').replaceChildren(table([
    ['Rule', (l) => l.path], ['Limit', rate], ['Algorithm', (l) => l.algorithm ?? ''], ['More', flags],
    ['Name', (l) => l.name ?? ''], ['Place', (l) => el('code', {}, l.place)],
  ], rows, 'No rule is like that.'));
}

export async function load() {
  loaded = await get('rules');
  return loaded;
}

at('filter').addEventListener('input', () => loaded && show());
at('reload').addEventListener('click', async () => {
  try {
    await post('reload', {});
    await new Promise((done) => { setTimeout(done, 1200); });
    await enter();
  } catch (failure) {
    at('rules-state').replaceChildren(el('p', { class: 'bad' }, failure.message));
  }
});

export async function enter() {
  await load();
  show();
}

export function leave() {}
