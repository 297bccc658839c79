// ---- the list of conversations ----
//
// It is beside the conversation where there is room, and in a dialog elsewhere.

const undo_ms = 10000;
let removed = null;  // the last conversation that was deleted, as long as it can be brought back: {conversation, shown}
let undo_timer = null;
let list_state = '';  // what the list shows

function listEntry({id, title}) {
  const item = element('li'), open = element('button', 'open', title || 'Untitled'), remove = element('button', 'delete', '\u00d7');
  item.dataset.id = id;
  open.type = remove.type = 'button';
  open.title = title;
  if (id === current.id) open.ariaCurrent = 'true';
  open.onclick = () => { openConversation(id); closeDrawer(); };
  remove.ariaLabel = remove.title = `Delete \u201c${title}\u201d`;
  remove.onclick = () => deleteConversation(id);
  item.append(open, remove);
  return item;
}

/// The list is made anew only where it has changed: a conversation is stored each second while it is answered, and the focus may be in the list.
function showList() {
  const entries = newestFirst(), state = JSON.stringify([current.id, entries]), focused = document.activeElement;
  if (state === list_state) return;
  list_state = state;
  const place = focused.matches('#list button') && `[data-id="${focused.parentNode.dataset.id}"] .${focused.className}`;
  $('list').replaceChildren(...entries.map(listEntry));
  $('no-conversations').hidden = entries.length > 0;
  if (place) $('list').querySelector(place)?.focus();
}

/// Shows a sentence about storage; '' takes it away.
function notice(text) {
  if ($('notice').textContent !== text) $('notice').textContent = text;
}

/// The conversation is gone from the storage at once, so that closing the page does not bring it back.
function deleteConversation(id) {
  const shown = id === current.id, conversation = shown ? current : conversationOf(id), {title} = known.get(id);
  forget(id);
  if (conversation) conversation.deleted = true;
  if (shown) newConversation();
  showList();
  removed = conversation && {conversation, shown};
  $('undo-text').textContent = `Deleted \u201c${title}\u201d.`;
  $('undo').hidden = !removed;
  (removed ? $('undo') : $('list')).focus();
  endUndoLater();
}

/// The offer stays as long as the button has the focus of the keyboard, whose users may need time.
function endUndoLater() {
  clearTimeout(undo_timer);
  undo_timer = setTimeout(() => ($('undo').matches(':focus-visible, :hover') ? endUndoLater() : endUndo()), undo_ms);
}

function endUndo() {
  clearTimeout(undo_timer);
  removed = null;
  $('undo').hidden = true;
  $('undo-text').textContent = '';
}

function undo() {
  const {conversation, shown} = removed;
  endUndo();
  delete conversation.deleted;
  notice(storeConversation(conversation));
  if (shown) openConversation(conversation.id, conversation);
  showList();
  $('undo-text').textContent = `\u201c${titleOf(conversation)}\u201d is back.`;
  $('list').querySelector(`[data-id="${conversation.id}"] .open`)?.focus();
}

const has_room = matchMedia('(min-width: 58rem)');

function placeList() {
  if (has_room.matches) closeDrawer();
  $(has_room.matches ? 'side' : 'drawer').append($('conversations'));
}
const closeDrawer = () => $('drawer').close();

has_room.addEventListener('change', placeList);
$('open-list').onclick = () => $('drawer').showModal();
$('close-list').onclick = closeDrawer;
$('undo').onclick = undo;

window.addEventListener('storage', ({key, newValue}) => {
  if (key === null) learnAll();
  else if (key.startsWith(conversation_prefix)) learn(key, newValue);
  else return;
  if (key === conversation_prefix + current.id && newValue !== null) currentChanged();
  showList();
});

