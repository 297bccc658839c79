// ---- conversations that are kept ----
//
// Each conversation {id, time, turns} has a key of its own in the browser's storage, so that two tabs do not overwrite each other's. `time` is
// that of its last question.

const conversation_prefix = 'skipstone.conversation.';
const known = new Map();  // id -> {id, time, title} of what the storage has

const newId = () => Date.now().toString(36) + [...crypto.getRandomValues(new Uint32Array(2))].map((part) => part.toString(36)).join('');

function titleOf({turns}) {
  const title = (turns[0]?.question ?? '').slice(0, 500).replace(/\s+/g, ' ').trim();
  return title.length > 60 ? title.slice(0, 59).trim() + '\u2026' : title;
}

/// The conversation that a text of the storage is, or null. Other programs at this address may have written it.
function conversationIn(text) {
  try {
    const read = JSON.parse(text);
    const isPiece = (piece) => typeof piece.text === 'string' && typeof piece.kind === 'string';
    const isTurn = ({question, answer}) => typeof question === 'string' && answer.pieces.every(isPiece);
    return typeof read.id === 'string' && typeof read.time === 'number' && read.turns.length > 0 && read.turns.every(isTurn) ? read : null;
  } catch {
    return null;
  }
}

const know = (conversation) => known.set(conversation.id, {id: conversation.id, time: conversation.time, title: titleOf(conversation)});

function learn(key, text) {
  const id = key.slice(conversation_prefix.length), conversation = conversationIn(text);
  if (conversation?.id === id) know(conversation);
  else known.delete(id);
}

function learnAll() {
  known.clear();
  try {
    for (const key of Object.keys(localStorage)) if (key.startsWith(conversation_prefix)) learn(key, localStorage.getItem(key));
  } catch { /* A browser may forbid storage: then no conversation is kept. */ }
}

const newestFirst = () => [...known.values()].sort((a, b) => b.time - a.time || (a.id < b.id ? 1 : -1));

function conversationOf(id) {
  try {
    return conversationIn(localStorage.getItem(conversation_prefix + id));
  } catch {
    return null;
  }
}

function forget(id) {
  known.delete(id);
  try { localStorage.removeItem(conversation_prefix + id); } catch { /* Nothing is kept where storage is forbidden. */ }
}

/// Keeps a conversation, if need be in the place of the oldest others. Returns what the user has to know, or ''.
function storeConversation(conversation) {
  const key = conversation_prefix + conversation.id, text = JSON.stringify(conversation), dropped = [];
  for (;;) {
    try {
      localStorage.setItem(key, text);
      know(conversation);
      return dropped.length > 0 ? 'The browser\u2019s storage is full: the oldest conversations were deleted to make room.' : '';
    } catch (error) {
      const oldest = newestFirst().filter(({id}) => id !== conversation.id).at(-1);
      if (error.name === 'QuotaExceededError' && oldest) {
        dropped.push(conversationOf(oldest.id));
        forget(oldest.id);
        continue;
      }
      for (const other of dropped.reverse()) if (other) storeConversation(other);  // they made room in vain
      return error.name === 'QuotaExceededError' ? 'The browser\u2019s storage is full: this conversation is lost when the page is closed.'
                                                 : 'The browser forbids storage: conversations are lost when the page is closed.';
    }
  }
}

