'use strict';
const $ = (id) => document.getElementById(id);
const log = $('log'), input = $('input'), settings = $('settings').querySelector('form'), fields = settings.elements;
const element = (tag, className = '', textContent = '') => Object.assign(document.createElement(tag), {className, textContent});

// Values that survive a reload; a browser may forbid storage.
function keep(area, name, value) {
  try { window[area].setItem('skipstone.' + name, JSON.stringify(value)); } catch { /* not kept */ }
}
function kept(area, name, otherwise) {
  try { return JSON.parse(window[area].getItem('skipstone.' + name)) ?? otherwise; } catch { return otherwise; }
}

// ---- the server ----

let props = null;  // the result of GET /props

async function ask(path, options = {}) {
  for (;;) {
    const key = kept('sessionStorage', 'key', '');
    const response = await fetch(path, {...options, headers: {...options.headers, ...(key && {Authorization: 'Bearer ' + key})}});
    if (response.ok) return response;
    if (response.status === 401 && await askForKey()) continue;
    const answer = await response.json().catch(() => null);
    const message = answer?.error?.message ?? `the server answered with status ${response.status}`;
    throw Object.assign(new Error(message), {code: answer?.error?.code ?? undefined});
  }
}

function askForKey() {
  const dialog = $('key');
  $('key-value').value = dialog.returnValue = '';
  dialog.showModal();
  return new Promise((resolve) => { dialog.onclose = () => resolve(dialog.returnValue === 'given'); });
}

function sentence(error) {
  const text = error instanceof TypeError ? 'the connection to the server failed' : error.message;
  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? '' : '.');
}

/// The most tokens of an answer where Settings has no number: half of the context, so that an answer without an end leaves room for a question.
const usualLimit = () => Math.ceil((props.default_generation_settings.n_ctx ?? 0) / 2);

async function loadProps() {
  props = await (await ask('props')).json();
  const own = props.default_generation_settings;
  const place = props.device ? `, context of ${own.n_ctx} tokens, on ${props.device} (${props.driver})` : ', not loaded';
  $('about').textContent = props.device ? `${props.model} on ${props.device}` : props.model;
  $('base').hidden = !props.base_model;
  $('server').textContent = `${props.model}${place}; ${props.build_info}`;
  for (const name of ['temperature', 'top_p', 'top_k', 'min_p']) fields[name].placeholder = own[name];
  fields.max_tokens.placeholder = usualLimit() || '';
  fields.draft.replaceChildren(new Option(`the server's own (${own.draft})`, ''), ...props.drafters.map((name) => new Option(name)));
  fields.draft.value = kept('localStorage', 'settings', {}).draft ?? '';
  if (fields.draft.selectedIndex < 0) fields.draft.value = '';
}

/// Yields the events of a stream, which must end with its end marker.
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = '', complete = false;;) {
    const {done, value} = await reader.read();
    if (done && !complete) throw new Error('the connection ended before the answer did');
    if (done) return;
    const lines = (rest + value).split('\n');
    rest = lines.pop();
    for (const data of lines.filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trim())) {
      if (data === '[DONE]') complete = true;
      else yield JSON.parse(data);
    }
  }
}

function* piecesOf(event) {
  const drafter = event.skipstone?.drafter ?? '';
  for (const {delta} of event.choices ?? []) {
    if (delta?.reasoning_content) yield {kind: 'reasoning', text: delta.reasoning_content, drafter};
    if (delta?.content) yield {kind: 'text', text: delta.content, drafter};
    for (const {index, function: called} of delta?.tool_calls ?? []) {
      yield {kind: 'call', call: index, name: called?.name, text: called?.arguments ?? '', drafter};
    }
  }
}

