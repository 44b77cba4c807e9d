// Which part is shown, and what of it the address remembers: #part?field=value.
import { at } from './dom.js';
import { get } from './api.js';
import * as live from './live.js';
import * as tryOut from './try.js';
import * as playground from './playground.js';
import * as rules from './rules.js';

const parts = { live, try: tryOut, playground, rules };
const forms = { try: 'call', playground: 'limit' };
let shown = '';

function address() {
  const [part, fields] = location.hash.slice(1).split('?');
  return { part: part in parts ? part : 'live', fields: new URLSearchParams(fields ?? '') };
}

/** Keeps the fields of a form in the address. */
export function remember(form, part) {
  if (shown !== part) return;
  const fields = new URLSearchParams(new FormData(form));
  fields.delete('from');
  history.replaceState(null, '', `#${part}?${fields}`);
}

function recall(part, fields) {
  const form = forms[part] && at(forms[part]);
  if (!form) return;
  for (const [name, value] of fields) {
    const field = form.elements.namedItem(name);
    if (field && 'value' in field) field.value = value;
  }
}

async function show() {
  const { part, fields } = address();
  if (part === shown) return;
  if (shown) parts[shown].leave();
  shown = part;
  for (const name of Object.keys(parts)) at(name).hidden = name !== part;
  for (const link of document.querySelectorAll('nav a')) {
    if (link.hash === `#${part}`) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  recall(part, fields);
  try {
    await parts[part].enter();
  } catch (failure) {
    at('server').textContent = failure.message;
  }
}

async function state() {
  try {
    const s = await get('state');
    const store = s.store.answers ? 'answers' : `does not answer: ${s.store.error}`;
    at('server').className = s.ready && s.store.answers ? '' : 'bad';
    at('server').textContent = [`${s.state}${s.ready ? '' : ` (${s.reasons.join('; ')})`}`, `${s.store.url} ${store}`,
      s.store.breaker_open ? 'breaker open' : '', ...s.problems].filter(Boolean).join(' · ');
  } catch (failure) {
    at('server').className = 'bad';
    at('server').textContent = `no answer: ${failure.message}`;
  }
}

addEventListener('hashchange', show);
show();
state();
setInterval(state, 2000);
