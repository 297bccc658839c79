// ---- answers ----

function entry(name, label) {
  log.append(element('article', name));
  log.lastChild.ariaLabel = label;
  return log.lastChild;
}

const hues = new Map();  // of the drafters of this conversation, in the order in which they came: the first few differ most

function drafted(drafter, words) {
  const span = element('span', 'drafted', words), fresh = !hues.has(drafter);
  if (fresh) hues.set(drafter, (190 + hues.size * 137.5) % 360);  // the golden angle: all hues differ
  span.style.setProperty('--hue', hues.get(drafter));
  span.title = `drafted by ${drafter}`;
  if (fresh) $('names').append(drafted(drafter, drafter));
  return span;
}

/// The log follows new text until the user scrolls up, and again once the user is back at its end.
let at_end = true, top_before = 0;
log.addEventListener('scroll', () => {
  at_end = (at_end && log.scrollTop >= top_before) || log.scrollHeight - log.scrollTop - log.clientHeight < 40;
  top_before = log.scrollTop;
});
const follow = () => requestAnimationFrame(() => { if (at_end) log.scrollTop = log.scrollHeight; });

const seconds = (ms) => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

/// The arguments of a tool call: text that grows, not Markdown.
class PlainView {
  constructor(root) { this.root = root; }

  add(text, drafter) {
    if (this.root.lastChild && this.drafter === drafter) this.root.lastChild.append(text);
    else this.root.append(drafter ? drafted(drafter, text) : Object.assign(element('span'), {textContent: text}));
    this.drafter = drafter;
    follow();
  }

  render() {}  // all of it is on the page
}

/// Whether an answer ended at the limit that Settings has, or at the usual one.
const isLimited = ({reason, limit, timings}) => reason === 'length' && limit > 0 && timings?.predicted_n >= limit;

/// Whether a new conversation is a way out of how an answer ended.
const needsRoom = (answer) => (answer.reason === 'length' && !isLimited(answer)) || answer.code === 'context_length_exceeded';

/// What the user should know of how an answer ended, as sentences.
function notesOf(answer) {
  const {pieces, reason, stopped, interrupted, elsewhere, error, code, context, timings: t} = answer;
  const notes = [], used = t ? t.prompt_n + t.cache_n + t.predicted_n : Infinity;
  if (isLimited(answer)) notes.push(`The answer ended at its limit of ${answer.limit} tokens (Max tokens in Settings).`);
  else if (reason === 'length' && used < context - 1) notes.push('The answer ended at a limit of the server; a new conversation has more room.');
  else if (reason === 'length') notes.push('The context is full: a new conversation has room again.');
  if (code === 'context_length_exceeded') notes.push('The conversation does not fit into the context: a new one has room again.');
  if (stopped) notes.push('You stopped this answer, so it is incomplete.');
  if (interrupted) notes.push('The page was closed or reloaded during this answer, so it is incomplete.');
  if (elsewhere) notes.push('Another tab is answering this question.');
  if (error && pieces.length > 0 && !code) notes.push('The answer was interrupted, so it is incomplete.');
  return notes;
}

/// An answer {pieces: [{kind: "text", "reasoning" or "call", call, name, text, drafter}], timings, first_ms, limit, context, reason, stopped,
/// interrupted, left, elsewhere, error, code, earlier}. It is `interrupted` until it has ended, and `left` once its page was closed; `elsewhere` says that
/// another tab is generating it.
class AnswerView {
  root = entry('answer', 'Answer');

  add(piece) {
    const place = piece.kind + (piece.call ?? '');
    if (this.place !== place) this.open(piece);
    this.place = place;
    this.text.add(piece.text, piece.drafter);
  }

  open({kind, name}) {
    this.text?.render();
    const block = element('div', kind === 'call' ? 'arguments' : kind === 'text' ? 'words markdown' : 'markdown');
    this.text = kind === 'call' ? new PlainView(block) : new MarkdownView(block);
    if (this.reasoning) this.reasoning.open = false;
    if (kind === 'text') return this.root.append(block);
    const aside = element('details', 'aside ' + kind);
    aside.open = true;
    aside.append(element('summary', '', kind === 'call' ? `Calls ${name}` : 'Reasoning'), block);
    if (kind === 'reasoning') this.reasoning = aside;
    this.root.append(aside);
  }

  end(answer) {
    if (!this.root.isConnected) return;  // another conversation is shown
    this.text?.render();
    const buttons = element('span', 'ways'), notes = notesOf(answer), button = (className, text, act) => {
      buttons.append(Object.assign(element('button', className, text), {type: 'button', onclick: act}));
    };
    if (answer.error) this.root.append(element('p', 'error', answer.error));
    if (notes.length > 0) this.root.append(element('p', 'note', notes.join(' ')));
    button('retry', 'Retry', () => retryLast(this));
    if (needsRoom(answer)) button('anew', 'New conversation', newConversation);
    const status = this.numbers(answer);
    status.append(buttons);
    this.root.append(status);
    this.root.ariaBusy = 'false';
    follow();
  }

  numbers({timings: t, first_ms}) {
    const status = element('p', 'status');
    const say = (text, title = '') => status.append(Object.assign(element('span', '', text), {title}));
    if (t) {
      say(`${t.predicted_per_second.toFixed(1)} tokens/s`, `${t.predicted_n} tokens in ${seconds(t.predicted_ms)}`);
      if (t.plain_ms > 0 && t.predicted_ms > 0) {
        say(`${(t.plain_ms / t.predicted_ms).toFixed(1)} \u00d7 plain`, `plain decoding takes ${seconds(t.plain_ms)} for these tokens`);
      }
      say(`${t.tokens_per_round.toFixed(2)} tokens per round`, `${t.rounds} rounds`);
      say(t.draft_n > 0 ? `${t.draft_n_accepted} of ${t.draft_n} drafts accepted` : 'no drafts');
    }
    if (first_ms) say(`${seconds(first_ms)} to the first token`, t ? `prompt: ${t.prompt_n} tokens read, ${t.cache_n} known` : '');
    if (t) say(`seed ${t.seed}`, 'the same request with this seed has the same answer');
    return status;
  }
}

const showQuestion = (text) => entry('question', 'Question').append(element('div', '', text));

function showAnswer(answer) {
  const view = new AnswerView();
  for (const piece of answer.pieces) view.add(piece);
  view.end(answer);
}

function say(text) {
  $('said').textContent = '';  // a sentence that is said twice is a change twice
  requestAnimationFrame(() => { $('said').textContent = text; });
}

/// Copies the code of a block. Pages of other hosts without TLS have no clipboard: there the selection is copied.
async function copyCode(button) {
  const code = button.closest('.code').querySelector('code');
  let copied = false;
  if (navigator.clipboard) copied = await navigator.clipboard.writeText(code.textContent).then(() => true, () => false);
  if (!copied) {
    getSelection().selectAllChildren(code);
    copied = document.execCommand('copy');
  }
  button.textContent = copied ? 'Copied' : 'Selected';
  say(copied ? 'Copied' : 'The browser does not let this page copy: the code is selected instead.');
  setTimeout(() => { button.textContent = 'Copy'; }, 2000);
}
log.addEventListener('click', ({target}) => { if (target.matches('.copy')) copyCode(target); });

