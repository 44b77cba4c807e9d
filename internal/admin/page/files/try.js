// Sends calls, as Envoy would, and shows what comes of them.
import { at, el, table, fill, wait } from './dom.js';
import { post } from './api.js';
import { load } from './rules.js';
import { remember } from './main.js';

const form = at('call');
const windows = { second: 1, minute: 60, hour: 3600, day: 86400, week: 604800, month: 2592000, year: 31536000 };
let holding = null;
let counting = null;

/** The call of the form; null if a line is no descriptor. */
function call() {
  const fields = new FormData(form);
  const descriptors = fields.get('descriptors').split('\n').filter((line) => line.trim() !== '').map((line) => ({
    entries: line.trim().split(',').map((pair) => {
      const end = pair.indexOf('=');
      return end < 0 ? null : { key: pair.slice(0, end), value: pair.slice(end + 1) };
    }),
  }));
  if (descriptors.length === 0 || descriptors.some((d) => d.entries.includes(null))) {
    say('Write descriptors as key=value,key=value, one a line.', 'bad');
    return null;
  }
  return { domain: fields.get('domain'), descriptors, hitsAddend: Number(fields.get('hits')) || 1 };
}

function say(text, kind) {
  const verdict = at('verdict');
  verdict.textContent = text;
  verdict.className = kind;
}

const limitsOf = (x) => x.descriptors.flatMap((d) => (d.limits ?? []).map((l) => ({ ...l, entries: d.entries })));

function summary(x, only) {
  const speaks = limitsOf(x).find((l) => l.speaks);
  if (x.error) return [x.error, 'bad'];
  if (!speaks) return [`${x.code}: no limit speaks for this call`, 'good'];
  const left = `${speaks.remaining} of ${speaks.burst} left`;
  if (x.code === 'OVER_LIMIT') return [`${only ? 'would be ' : ''}denied by ${speaks.label}: ${left}, room in ${wait(speaks.reset_micros)}`, 'bad'];
  return [`${only ? 'would be ' : ''}allowed: ${left} of ${speaks.label}`, 'good'];
}

/** Headers as Envoy writes them with enable_x_ratelimit_headers. */
function envoyHeaders(x) {
  const limits = limitsOf(x).filter((l) => !l.unlimited && !l.replaced && l.role !== 'shadow');
  const speaks = limits.find((l) => l.speaks);
  if (!speaks) return 'none: no limit speaks for this call';
  const quota = limits.map((l) => `${l.requests_per_unit};w=${windows[l.unit] * (l.unit_multiplier || 1)}${l.label.includes('/') ? '' : `;name="${l.label}"`}`);
  const seconds = Math.max(x.code === 'OVER_LIMIT' ? 1 : 0, Math.ceil(speaks.reset_micros / 1e6));
  const lines = [`x-ratelimit-limit: ${[speaks.requests_per_unit, ...quota].join(', ')}`, `x-ratelimit-remaining: ${speaks.remaining}`, `x-ratelimit-reset: ${seconds}`];
  if (x.code === 'OVER_LIMIT') lines.unshift('HTTP/1.1 429 Too Many Requests', `retry-after: ${seconds}`);
  return lines.join('\n');
}

function way(d) {
  return el('div', {},
    el('p', { class: 'mono' }, d.entries.map((e) => `${e.key}=${e.value}`).join(', ')),
    el('ol', { class: 'steps' }, ...(d.steps ?? []).map((s) => el('li', { class: s.taken ? 'good' : 'quiet' }, `${s.taken ? '✓' : '✗'} ${s.rule}: ${s.reason}`))),
    el('p', {}, d.reason, d.hint ? ` (${d.hint})` : ''));
}

function shell(body) {
  const json = JSON.stringify(body);
  const quoted = `'${json.replaceAll("'", `'\\''`)}'`;
  return `curl -s http://127.0.0.1:8080/json -d ${quoted}\n\ngrpcurl -plaintext -d ${quoted} 127.0.0.1:8081 envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit`;
}

/** Counts down to the moment that was announced. */
function count(x) {
  clearInterval(counting);
  const speaks = limitsOf(x).find((l) => l.speaks);
  if (x.code !== 'OVER_LIMIT' || !speaks) return;
  const until = performance.now() + speaks.reset_micros / 1000;
  counting = setInterval(() => {
    const left = until - performance.now();
    if (left > 0) return;
    clearInterval(counting);
    say('There is room again.', 'good');
  }, 200);
}

function show(x, body, text, kind) {
  say(text, kind);
  at('limits').replaceChildren(table([
    ['Limit', (l) => l.label], ['Says', (l) => el('span', { class: l.allowed ? 'good' : 'bad' }, l.allowed ? 'room' : 'over')],
    ['Left', (l) => (l.unlimited ? 'unlimited' : fill(l.remaining, l.burst))],
    ['Room or new in', (l) => wait(l.reset_micros), true], ['Algorithm', (l) => l.algorithm ?? ''], ['Bucket', (l) => el('code', {}, l.bucket_key ?? '')],
  ], limitsOf(x), 'No limit applies.'));
  at('headers').textContent = envoyHeaders(x);
  at('why').replaceChildren(x.note ? el('p', {}, x.note) : '', ...x.descriptors.map(way));
  at('shell').textContent = shell(body);
  count(x);
}

async function send(path, times = 1) {
  const body = call();
  if (!body) return;
  remember(form, 'try');
  try {
    let x = null;
    let allowed = 0;
    for (let i = 0; i < times; i += 1) {
      x = await post(path, body);
      if (x.code === 'OK') allowed += 1;
    }
    const [text, kind] = path === 'reset' ? ['Its buckets are as new.', 'good'] : summary(x, path === 'explain');
    show(x, body, times > 1 ? `${allowed} of ${times} allowed; the last was ${text}` : text, kind);
  } catch (failure) {
    hold(false);
    say(failure.message, 'bad');
  }
}

function hold(on) {
  clearInterval(holding);
  holding = on ? setInterval(() => send('try'), 150) : null;
  at('hold').setAttribute('aria-pressed', String(on));
}

form.addEventListener('submit', (event) => { event.preventDefault(); send('try'); });
at('ten').addEventListener('click', () => send('try', 10));
at('hold').addEventListener('click', () => hold(!holding));
at('look').addEventListener('click', () => send('explain'));
at('free').addEventListener('click', () => send('reset'));
form.elements.from.addEventListener('change', (event) => {
  if (!event.target.value) return;
  const { domain, line } = JSON.parse(event.target.value);
  form.elements.domain.value = domain;
  form.elements.descriptors.value = line;
});

export async function enter() {
  const rules = await load();
  const domains = [...new Set(rules.in_force.map((l) => l.domain))];
  at('domains').replaceChildren(...domains.map((d) => el('option', { value: d })));
  if (!form.elements.domain.value) form.elements.domain.value = domains[0] ?? '';
  form.elements.from.replaceChildren(el('option', { value: '' }, 'choose one'), ...rules.in_force.map((l) => {
    const line = l.entries.map((e) => `${e.key}=${e.value || 'x'}`).join(',');
    return el('option', { value: JSON.stringify({ domain: l.domain, line }) }, `${l.domain}: ${line}`);
  }));
}

export function leave() { hold(false); }
