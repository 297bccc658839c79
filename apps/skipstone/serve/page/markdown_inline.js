// ---- Markdown within a block ----
//
// A block's content is {text, at}: its characters, and the place of each in the source. Its tokens have places in `text`:
// {kind: "text" or "code", from, to}, {kind: "break"}, {kind: "open", tag, href, image}, {kind: "close"}, and {kind: "run"} for a run of the
// marks of emphasis, which closes `closes` elements, is text where marks are left over, and opens the elements `opens`, the innermost first.

const link_protocols = ['http:', 'https:', 'mailto:'];

/// The address as a link may have it, or null for all that could run as a script or leads into this server.
function linkAddress(address) {
  try {
    const url = new URL(address.replace(/\\([!-/:-@[-`{-~])/g, '$1'));
    return link_protocols.includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

function contentOf(pieces, glue = '\n') {
  const text = pieces.map((piece) => piece.text).join(glue), at = new Uint32Array(text.length);
  let i = 0;
  for (const {from, text: {length}} of pieces) {
    for (let k = 0; k < length + glue.length && i < at.length; ++k) at[i++] = from + k;
  }
  return {text, at};
}

/// Finds the backquotes that close a code span. It looks up runs by length, so that quotes that nothing closes cost no search.
class Backquotes {
  constructor(text) {
    this.places = new Map();
    for (const {0: {length}, index} of text.matchAll(/`+/g)) {
      if (!this.places.has(length)) this.places.set(length, {list: [], next: 0});
      this.places.get(length).list.push(index);
    }
  }

  after(place, length) {
    const runs = this.places.get(length);
    if (!runs) return undefined;
    while (runs.list[runs.next] <= place) ++runs.next;
    return runs.list[runs.next];
  }
}

/// Pairs runs of emphasis as CommonMark does, the innermost first. `bottoms` says below which place in the stack nothing matches, which keeps
/// the search linear.
function pairRuns(runs) {
  const stack = [], bottoms = new Map();
  const matches = (opener, closer) => opener.mark === closer.mark && !((opener.canClose || closer.canOpen) &&
    (opener.length + closer.length) % 3 === 0 && opener.length % 3 !== 0);
  for (const run of runs) {
    const key = run.mark + run.canOpen + run.length % 3;
    while (run.canClose && run.left > 0) {
      const bottom = bottoms.get(key) ?? 0;
      let i = stack.length - 1;
      while (i >= bottom && !matches(stack[i], run)) --i;
      if (i < bottom) {
        bottoms.set(key, stack.length);
        break;
      }
      const opener = stack[i], count = Math.min(2, opener.left, run.left);
      opener.opens.push(run.mark === '~' ? 'del' : count === 2 ? 'strong' : 'em');
      opener.left -= count;
      run.left -= count;
      run.used += count;
      ++run.closes;
      stack.length = opener.left > 0 ? i + 1 : i;
      for (const [name, place] of bottoms) bottoms.set(name, Math.min(place, stack.length));
    }
    if (run.canOpen && run.left > 0) stack.push(run);
  }
}

// Numbers of repetitions are limited, so that a destination without an end costs no search through all of the text.
const letters_pattern = /(?:[^\s()\\<]|\\.|\((?:[^\s()\\]|\\.){0,2000}\)){0,2000}/.source, title_pattern = /"[^"]{0,500}"|'[^']{0,500}'/.source;
const destination_pattern = new RegExp(`\\(\\s{0,4}(?:<([^<>\\n]{0,2000})>|(${letters_pattern}))(?:\\s{1,4}(?:${title_pattern}))?\\s{0,4}\\)`, 'y');
const autolink_pattern = /<((?:https?:\/\/|mailto:)[^\s<>]{1,2000})>/y, bare_pattern = /https?:\/\/[^\s<>[\]`|]{1,2000}/y;
const special_pattern = /[\\`*_~[\]!<\n]|\bhttps?:\/\//g;

function matchAt(pattern, text, place) {
  pattern.lastIndex = place;
  return pattern.exec(text);
}

/// An address in the text ends before the punctuation of its sentence.
function bareAddress(address) {
  let end = address.length, open = 0;
  for (const letter of address) open += letter === '(' ? 1 : letter === ')' ? -1 : 0;
  for (; end > 0; --end) {
    if (address[end - 1] === ')' && open < 0) ++open;
    else if (!'?!.,:;*_~\'"'.includes(address[end - 1])) break;
  }
  return address.slice(0, end);
}

class InlineParser {
  tokens = [];
  brackets = [];  // open ones, as {token, image}
  runs = [];      // those that are not yet paired, as places in `tokens`
  begin = 0;      // of the text that is not yet a token

  constructor(text) {
    this.text = text;
    this.backquotes = new Backquotes(text);
  }

  parse() {
    for (let i = 0;;) {
      const found = matchAt(special_pattern, this.text, i);
      if (!found) break;
      i = this.take(found[0], found.index);
    }
    this.flush(this.text.length);
    this.pairFrom(-1);
    return this.tokens;
  }

  /// Makes a token of the text in front of `place`, adds `tokens`, and continues at `next`.
  flush(place, next = place, ...tokens) {
    if (this.begin < place) this.tokens.push({kind: 'text', from: this.begin, to: place});
    this.tokens.push(...tokens);
    return this.begin = next;
  }

  take(mark, i) {
    const {text} = this;
    if (mark === '\\') {
      if (text[i + 1] === '\n') return this.flush(i, i + 2, {kind: 'break'});
      return /[!-/:-@[-`{-~]/.test(text[i + 1] ?? '') ? this.flush(i, i + 1) + 1 : i + 1;
    }
    if (mark === '\n') return text[i - 1] === ' ' && text[i - 2] === ' ' ? this.flush(i, i + 1, {kind: 'break'}) : i + 1;
    if (mark === '`') return this.takeCode(i);
    if ('*_~'.includes(mark)) return this.takeRun(mark, i);
    if (mark === '[') return this.takeBracket(i, i + 1, false);
    if (mark === '!') return text[i + 1] === '[' ? this.takeBracket(i, i + 2, true) : i + 1;
    if (mark === ']') return this.takeLink(i);
    return this.takeAddress(mark, i);
  }

  takeCode(i) {
    const {text} = this;
    let from = i;
    while (text[from] === '`') ++from;
    let to = this.backquotes.after(i, from - i);
    if (to === undefined) return from;
    const next = to + from - i;
    const padded = to - from > 2 && /[ \n]/.test(text[from]) && /[ \n]/.test(text[to - 1]) && /\S/.test(text.slice(from, to));
    if (padded) ++from, --to;
    return this.flush(i, next, {kind: 'code', from, to});
  }

  takeRun(mark, i) {
    const {text} = this;
    let end = i;
    while (text[end] === mark) ++end;
    if (mark === '~' && end - i !== 2) return end;
    const before = text[i - 1] ?? ' ', after = text[end] ?? ' ', space = /\s/, sign = /[\p{P}\p{S}]/u;
    const left = !space.test(after) && (!sign.test(after) || space.test(before) || sign.test(before));
    const right = !space.test(before) && (!sign.test(before) || space.test(after) || sign.test(after));
    const canOpen = left && (mark !== '_' || !right || sign.test(before)), canClose = right && (mark !== '_' || !left || sign.test(after));
    const run = {kind: 'run', mark, from: i, length: end - i, left: end - i, used: 0, canOpen, canClose, opens: [], closes: 0};
    this.flush(i, end, run);
    this.runs.push(this.tokens.length - 1);
    return end;
  }

  takeBracket(i, end, image) {
    this.flush(i, end, {kind: 'text', from: i, to: end});
    this.brackets.push({token: this.tokens.length - 1, image});
    return end;
  }

  takeLink(i) {
    const bracket = this.brackets.pop(), found = bracket && matchAt(destination_pattern, this.text, i + 1);
    const href = found && linkAddress(found[1] ?? found[2]);
    if (!href) return i + 1;
    this.flush(i, i + 1 + found[0].length, {kind: 'close'});
    this.tokens[bracket.token] = {kind: 'open', tag: 'a', href, image: bracket.image};
    this.pairFrom(bracket.token);
    if (!bracket.image) this.brackets = [];  // links contain no links
    return this.begin;
  }

  takeAddress(mark, i) {
    const found = matchAt(mark === '<' ? autolink_pattern : bare_pattern, this.text, i);
    const address = found && (mark === '<' ? found[1] : bareAddress(found[0])), href = found && linkAddress(address);
    if (!href) return i + mark.length;
    const from = mark === '<' ? i + 1 : i, to = from + address.length;
    return this.flush(i, mark === '<' ? to + 1 : to, {kind: 'open', tag: 'a', href}, {kind: 'text', from, to}, {kind: 'close'});
  }

  /// Pairs the runs after a token.
  pairFrom(token) {
    let first = this.runs.length;
    while (first > 0 && this.runs[first - 1] > token) --first;
    pairRuns(this.runs.splice(first).map((place) => this.tokens[place]));
  }
}

