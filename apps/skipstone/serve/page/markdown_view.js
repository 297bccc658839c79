// ---- Markdown as nodes ----
//
// All text reaches the page as text nodes, elements and attributes are chosen here: what a model writes cannot become markup. Images are
// links, so that nothing is fetched from elsewhere.

const deepest_inline = 16;

function codeBlock(language) {
  const block = element('div', 'code'), head = element('div', 'code-head'), copy = element('button', 'copy', 'Copy'), code = element('code');
  const pre = element('pre');
  copy.type = 'button';
  head.append(element('span', '', language || 'code'), copy);
  pre.append(code);
  block.append(head, pre);
  return {block, code};
}

/// Text that grows at its end and is shown as Markdown. Blocks that later text cannot change stay as they are; what follows them (`tail`) is
/// made anew, at most a fifth of the time, so that a long block does not slow the page down.
class MarkdownView {
  tail = '';
  runs = [];    // of `tail`, as {end, drafter}
  settled = 0;  // child nodes that stay
  cost = 0;     // milliseconds of the last render()
  timer = null;

  constructor(root) { this.root = root; }

  add(text, drafter) {
    this.tail += text;
    if (this.runs.at(-1)?.drafter === drafter) this.runs.at(-1).end = this.tail.length;
    else this.runs.push({end: this.tail.length, drafter});
    this.timer ??= setTimeout(() => this.render(), Math.max(16, 4 * this.cost));
  }

  render() {
    const begin = performance.now(), blocks = blocksOf(linesOf(this.tail)), last_line = this.tail.lastIndexOf('\n') + 1;
    clearTimeout(this.timer);
    this.timer = null;
    if (!this.root.isConnected) return;  // another conversation is shown, and the legend is that one's
    while (this.root.childNodes.length > this.settled) this.root.lastChild.remove();
    for (const block of blocks) this.root.append(this.nodeOf(block));
    const open = blocks.findLastIndex((block) => block.decided < last_line);  // an unfinished line may yet join the block before it
    if (open > 0) {
      const {from} = blocks[open];
      this.settled += open;
      this.tail = this.tail.slice(from);
      this.runs = this.runs.filter(({end}) => end > from).map(({end, drafter}) => ({end: end - from, drafter}));
    }
    this.cost = performance.now() - begin;
    follow();
  }

  nodeOf(block) {
    switch (block.kind) {
      case 'code': return this.code(block);
      case 'heading': return this.inline(element('h' + Math.min(block.level + 2, 6)), block.lines);  // the page has the first two levels
      case 'rule': return element('hr');
      case 'quote': return this.within(element('blockquote'), block.blocks);
      case 'list': return this.list(block);
      case 'table': return this.table(block);
      default: return this.inline(element('p'), block.lines);
    }
  }

  within(node, blocks) {
    for (const block of blocks) node.append(this.nodeOf(block));
    return node;
  }

  code({language, lines}) {
    const {block, code} = codeBlock(language), content = contentOf(lines);
    this.paint(code, content, 0, content.text.length);
    return block;
  }

  list({start, items, loose}) {
    const list = element(start === null ? 'ul' : 'ol', loose ? '' : 'tight');
    if (start !== null) list.start = start;
    for (const blocks of items) list.append(this.within(element('li'), blocks));
    return list;
  }

  table({aligns, head, rows}) {
    const scroller = element('div', 'table'), table = element('table');
    const row = (section, tag, cells) => {
      const line = element('tr');
      cells.forEach((cell, i) => line.append(this.inline(element(tag, aligns[i]), this.trimmed(cell), '')));
      section.append(line);
    };
    const top = element('thead'), body = element('tbody');
    row(top, 'th', head);
    for (const cells of rows) row(body, 'td', cells);
    table.append(top, body);
    scroller.append(table);
    return scroller;
  }

  trimmed(cell) {
    const first = outdented(cell[0], Infinity), rest = [first, ...cell.slice(1)], last = rest.at(-1);
    return [...rest.slice(0, -1), {from: last.from, text: last.text.trimEnd()}];
  }

  inline(parent, pieces, glue = '\n') {
    const content = contentOf(pieces, glue), stack = [{node: parent, link: false}];
    let from = 0, to = 0;  // of text that is not yet on the page; tokens beside each other are one text
    const top = () => stack.at(-1);
    const show = (begin, end) => {
      if (begin !== to) this.paint(top().node, content, from, to), from = begin;
      to = end;
    };
    const flush = () => { this.paint(top().node, content, from, to); from = to = 0; };
    const open = (tag, href) => {
      flush();
      if (stack.length > deepest_inline || (tag === 'a' && top().link)) return stack.push(top());
      const node = element(tag);
      if (href) Object.assign(node, {href, title: href, target: '_blank', rel: 'noopener noreferrer'});
      top().node.append(node);
      stack.push({node, link: tag === 'a' || top().link});
    };
    const close = () => { flush(); stack.pop(); };
    new InlineParser(content.text).parse().forEach((token, i, tokens) => {
      if (token.kind === 'text') show(token.from, token.to);
      else if (token.kind === 'code') open('code'), show(token.from, token.to), close();
      else if (token.kind === 'break') flush(), top().node.append(element('br'));
      else if (token.kind === 'open') {
        open(token.tag, token.href);
        if (token.image && tokens[i + 1].kind === 'close') top().node.append(token.href);  // an image without a text
      } else if (token.kind === 'close') close();
      else {
        for (let k = 0; k < token.closes; ++k) close();
        if (token.left > 0) show(token.from + token.used, token.from + token.used + token.left);
        for (const tag of token.opens.reverse()) open(tag);
      }
    });
    flush();
    return parent;
  }

  /// Appends a part of a content, with the words that a drafter guessed marked.
  paint(node, {text, at}, from, to) {
    while (from < to) {
      const {end, drafter} = this.runs[this.runAt(at[from])];
      let next = from + 1;
      while (next < to && at[next] < end) ++next;
      const words = text.slice(from, next);
      node.append(drafter ? drafted(drafter, words) : words);
      from = next;
    }
  }

  runAt(place) {
    let low = 0, high = this.runs.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.runs[middle].end > place) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

