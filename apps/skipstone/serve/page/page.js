// ---- the conversation on the page ----

let current = {id: newId(), time: 0, turns: []};  // turns are {question, answer}
let controller = null;  // of the answer that is being generated
let leaving = false;    // the page is being closed or reloaded

function save(conversation) {
  if (conversation.deleted || conversation.turns.length === 0) return;
  notice(storeConversation(conversation));
  showList();
}

/// A question without an answer is no part of the conversation.
function requestOf({turns}) {
  const messages = [], body = {messages, stream: true};
  if (fields.system.value.trim()) messages.push({role: 'system', content: fields.system.value});
  for (const {question, answer: {pieces}} of turns.slice(0, -1)) {
    if (pieces.length === 0) continue;
    const content = pieces.filter((piece) => piece.kind === 'text').map((piece) => piece.text).join('');
    messages.push({role: 'user', content: question}, {role: 'assistant', content});
  }
  messages.push({role: 'user', content: turns.at(-1).question});
  for (const field of fields) {
    if (field.type === 'number' && field.value !== '') body[field.name] = Number(field.value);
  }
  if (usualLimit()) body.max_tokens ??= usualLimit();
  if (fields.draft.value) body.draft = fields.draft.value;
  return body;
}

/// Adds a piece to an answer; pieces of one kind and drafter are one.
function addPiece(answer, piece) {
  const last = answer.pieces.at(-1), same = last?.kind === piece.kind && last.call === piece.call && last.drafter === piece.drafter;
  if (same) last.text += piece.text;
  else answer.pieces.push(piece);
}

/// Asks the server for the last answer of a conversation. What has come is kept each second, in case the browser ends.
async function stream(conversation, view, signal) {
  const begin = performance.now(), {answer} = conversation.turns.at(-1);
  if (!props?.device) await loadProps();
  const body = requestOf(conversation), headers = {'Content-Type': 'application/json'};
  Object.assign(answer, {limit: body.max_tokens, context: props.default_generation_settings.n_ctx});
  const response = await ask('v1/chat/completions', {method: 'POST', headers, body: JSON.stringify(body), signal});
  let saved = begin;
  for await (const event of events(response.body)) {
    signal.throwIfAborted();
    if (event.error) Object.assign(answer, {error: sentence(event.error), code: event.error.code ?? undefined});
    answer.timings = event.timings ?? answer.timings;
    answer.reason = event.choices?.[0]?.finish_reason ?? answer.reason;
    for (const piece of piecesOf(event)) {
      answer.first_ms ??= performance.now() - begin;
      view.add(piece);
      addPiece(answer, piece);
    }
    if (performance.now() - saved > 1000) {
      save(conversation);
      saved = performance.now();
    }
  }
}

/// Says whose answer is being generated; null: none is.
function setController(value) {
  controller = value;
  document.body.classList.toggle('busy', value !== null);
  $('send').textContent = value ? 'Stop' : 'Send';
}

/// Answers the last question of a conversation. Until the answer has ended it is `interrupted`, as it is found if the page is closed.
async function run(conversation) {
  const {answer} = conversation.turns.at(-1), view = new AnswerView(), mine = new AbortController();
  setController(mine);
  answer.interrupted = true;
  save(conversation);
  view.root.ariaBusy = 'true';
  at_end = true;
  follow();
  try {
    await stream(conversation, view, mine.signal);
  } catch (error) {
    if (mine.signal.aborted) answer.stopped = true;
    else Object.assign(answer, {error: sentence(error), code: error.code});
  }
  if (leaving) return view;
  delete answer.interrupted;
  delete answer.earlier;
  view.end(answer);
  if (controller === mine) setController(null);
  return view;
}

async function send() {
  if (controller || !input.value.trim()) return;
  const conversation = current;
  conversation.turns.push({question: input.value, answer: {pieces: []}});
  conversation.time = Date.now();
  input.value = '';
  showQuestion(conversation.turns.at(-1).question);
  await run(conversation);
  if (!leaving) save(conversation);
}

/// The earlier answer is restored if the retry produces none, or if the page is closed before it does.
async function retryLast(view) {
  const conversation = current, turn = conversation.turns.at(-1), earlier = turn.answer, answer = turn.answer = {pieces: [], earlier};
  view.root.remove();
  input.focus();
  const failed = await run(conversation);
  if (answer.pieces.length === 0 && earlier.pieces.length > 0) {
    turn.answer = {...earlier, error: answer.error, code: answer.code};
    if (failed.root.isConnected) showAnswer(turn.answer);
    failed.root.remove();
  }
  if (!leaving) save(conversation);
}

function show(conversation) {
  current = conversation;
  keep('sessionStorage', 'current', current.id);
  hues.clear();
  $('names').textContent = '';
  log.replaceChildren($('hint'));
  for (const turn of current.turns) {
    if (turn.answer.earlier && turn.answer.pieces.length === 0) turn.answer = turn.answer.earlier;
    showQuestion(turn.question);
    showAnswer(turn.answer);
  }
  showList();
}

/// Shows another conversation. An answer that is being generated is stopped, and kept with its own conversation.
function openConversation(id, conversation = conversationOf(id)) {
  if (!conversation || conversation === current) return;
  controller?.abort();
  setController(null);
  at_end = true;
  show(conversation);
}

function newConversation() {
  openConversation(null, {id: newId(), time: 0, turns: []});
  input.focus();
}

/// Another tab has stored this conversation. Its text is shown here; if an answer is being generated here, the two become two conversations.
function currentChanged() {
  const theirs = conversationOf(current.id);
  if (!controller && theirs) {
    const {answer} = theirs.turns.at(-1);
    if (answer.interrupted && !answer.left) Object.assign(answer, {interrupted: false, elsewhere: true});
    return show(theirs);
  }
  current.id = newId();
  keep('sessionStorage', 'current', current.id);
  save(current);
}

// ---- controls ----

const saveSettings = () => keep('localStorage', 'settings', Object.fromEntries(new FormData(settings)));
const onSubmit = (form, act) => form.addEventListener('submit', (event) => { event.preventDefault(); act(); });

input.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  send();
});
document.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape' || event.isComposing || !controller || document.querySelector('dialog[open]')) return;
  event.preventDefault();
  controller.abort();
});
onSubmit($('composer'), () => (controller ? controller.abort() : send()));
onSubmit(settings, () => $('settings').close());
onSubmit($('key').querySelector('form'), () => { keep('sessionStorage', 'key', $('key-value').value); $('key').close('given'); });
$('no-key').onclick = () => $('key').close();
$('new').onclick = newConversation;
$('open-settings').onclick = () => $('settings').showModal();
$('defaults').onclick = () => { settings.reset(); saveSettings(); };
$('colours').onchange = () => keep('localStorage', 'colours', $('colours').checked);
settings.addEventListener('input', saveSettings);
window.addEventListener('pagehide', () => {
  leaving = true;
  keep('sessionStorage', 'input', input.value);
  if (!controller) return;
  current.turns.at(-1).answer.left = true;
  save(current);
});
window.addEventListener('pageshow', ({persisted}) => { if (persisted) location.reload(); });

async function start() {
  for (const [name, value] of Object.entries(kept('localStorage', 'settings', {}))) fields[name] && (fields[name].value = value);
  $('colours').checked = kept('localStorage', 'colours', true);
  learnAll();
  placeList();
  input.value ||= kept('sessionStorage', 'input', '');
  show(conversationOf(kept('sessionStorage', 'current', '')) ?? current);
  const failed = await loadProps().catch((error) => error);
  if (failed) log.append(element('p', 'error', sentence(failed)));
}
start();
