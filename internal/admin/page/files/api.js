// The admin API. A token, where the server asks for one, stays in this tab.
import { at } from './dom.js';

const key = 'envoy-rls-token';

const headers = () => {
  const token = sessionStorage.getItem(key);
  return token ? { Authorization: `Bearer ${token}` } : {};
};

at('token').addEventListener('submit', (event) => {
  event.preventDefault();
  sessionStorage.setItem(key, new FormData(event.target).get('token'));
  location.reload();
});

async function answer(response) {
  if (response.status === 401) at('token').hidden = false;
  const value = await response.json();
  if (value.error && !value.descriptors) throw new Error(value.error);
  return value;
}

export const get = async (path) => answer(await fetch(`api/${path}`, { headers: headers() }));

export const post = async (path, body) => answer(await fetch(`api/${path}`, {
  method: 'POST', headers: { 'Content-Type': 'application/json', ...headers() }, body: JSON.stringify(body),
}));

/** Hands each event of the stream to see, until the signal ends it. */
export async function events(path, signal, see) {
  const response = await fetch(`api/${path}`, { headers: headers(), signal });
  if (!response.ok) return answer(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return undefined;
    text += value;
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      see(JSON.parse(text.slice('data: '.length, end)));
      text = text.slice(end + 2);
    }
  }
}
