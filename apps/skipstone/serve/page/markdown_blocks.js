// ---- blocks of Markdown ----
//
// CommonMark's blocks and GitHub's tables, without HTML, entities and reference links. A library would give up the place of each character
// in the source, and the page needs it: every character knows the drafter that guessed it. So blocks are made of lines {from, text}, where
// `from` is the place of the line's text in the source.
//
// The text is a model's, so nothing may cost more than linear time: patterns are anchored and do not backtrack over long texts, containers
// nest up to a limit, and tables have a limit of columns. What is beyond a limit is text of a paragraph.
//
// A heading's underline has at least three marks here: otherwise a paragraph would be a heading for a moment when the list after it begins.

const deepest_block = 12, most_columns = 64;
const fence_pattern = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)$/, heading_pattern = /^ {0,3}(#{1,6})(?=[ \t]|$)/, quote_pattern = /^ {0,3}> ?/;
const item_pattern = /^[ \t]*([-+*]|\d{1,9}[.)])(?=[ \t]|$)/, underline_pattern = /^ {0,3}(={3,}|-{3,})[ \t]*$/;

const isBlank = ({text}) => !/\S/.test(text);
const cut = ({from, text}, count) => ({from: from + count, text: text.slice(count)});

function linesOf(source) {
  const texts = source.split('\n'), lines = [];
  if (texts.at(-1) === '') texts.pop();
  let from = 0;
  for (const text of texts) {
    lines.push({from, text: text.endsWith('\r') ? text.slice(0, -1) : text});
    from += text.length + 1;
  }
  return lines;
}

/// The white space at the front of a text, up to `most` columns of it. A tab reaches to the next multiple of 4.
function indentOf(text, most = Infinity) {
  let columns = 0, chars = 0;
  for (; columns < most; ++chars) {
    if (text[chars] === ' ') ++columns;
    else if (text[chars] === '\t') columns += 4 - columns % 4;
    else break;
  }
  return {columns, chars};
}
const outdented = (line, columns) => cut(line, indentOf(line.text, columns).chars);

function isRule({text}) {
  const marks = text.replace(/[ \t]/g, '');
  return marks.length > 2 && '-*_'.includes(marks[0]) && marks === marks[0].repeat(marks.length) && indentOf(text, 4).columns < 4;
}

function itemMark(line) {
  const [all, mark] = item_pattern.exec(line.text) ?? [];
  const indent = indentOf(line.text, 4).columns;
  if (!all || indent > 3 || isRule(line)) return null;
  const rest = line.text.slice(all.length), gap = indentOf(rest, 5).columns, empty = !/\S/.test(rest);
  const chars = all.length, width = chars + (empty || gap > 4 ? 1 : gap);
  return {type: mark.at(-1), number: mark.length > 1 ? Number(mark.slice(0, -1)) : null, indent, chars, width, empty};
}

/// Whether the line begins a block in the middle of a paragraph.
function interrupts(lines, i) {
  const {text} = lines[i];
  if (fence_pattern.test(text) || heading_pattern.test(text) || quote_pattern.test(text) || isRule(lines[i]) || tableAt(lines, i)) return true;
  const mark = itemMark(lines[i]);
  return mark !== null && !mark.empty && (mark.number ?? 1) === 1;
}

/// Whether the line continues the paragraph at the end of a container, although it lacks the container's mark.
function isLazy(lines, i, inner) {
  return !isBlank(lines[i]) && !isBlank(inner.at(-1)) && !fence_pattern.test(inner.at(-1).text) && !itemMark(lines[i]) && !interrupts(lines, i);
}

function fenceAt(lines, i) {
  const [, marks, info] = fence_pattern.exec(lines[i].text) ?? [];
  if (!marks) return null;
  const closes = (text) => text.startsWith(marks) && text === marks[0].repeat(text.length);
  const indent = indentOf(lines[i].text, 4).columns;
  let end = i + 1;
  while (end < lines.length && !closes(lines[end].text.trim())) ++end;
  const language = info.trim().split(/\s/)[0].slice(0, 40);
  return {kind: 'code', language, lines: lines.slice(i + 1, end).map((line) => outdented(line, indent)), next: end + 1};
}

function indentedAt(lines, i) {
  const belongs = (line) => isBlank(line) || indentOf(line.text, 4).columns === 4;
  let end = i;
  while (end < lines.length && belongs(lines[end])) ++end;
  if (end === i) return null;
  const next = end;
  while (isBlank(lines[end - 1])) --end;
  return {kind: 'code', language: '', lines: lines.slice(i, end).map((line) => outdented(line, 4)), next};
}

function headingAt(lines, i) {
  const [all, marks] = heading_pattern.exec(lines[i].text) ?? [];
  if (!all) return null;
  const rest = cut(lines[i], all.length), indented = outdented(rest, Infinity);
  let text = indented.text.trimEnd(), end = text.length;
  while (text[end - 1] === '#') --end;
  if (end === 0 || /\s/.test(text[end - 1])) text = text.slice(0, end).trimEnd();
  return {kind: 'heading', level: marks.length, lines: [{from: indented.from, text}], next: i + 1};
}

const ruleAt = (lines, i) => (isRule(lines[i]) ? {kind: 'rule', next: i + 1} : null);

function quoteAt(lines, i, depth) {
  const inner = [];
  let end = i;
  for (; end < lines.length; ++end) {
    const [mark] = quote_pattern.exec(lines[end].text) ?? [];
    if (mark) inner.push(cut(lines[end], mark.length));
    else if (inner.length > 0 && isLazy(lines, end, inner)) inner.push(lines[end]);
    else break;
  }
  return inner.length === 0 ? null : {kind: 'quote', blocks: blocksOf(inner, depth + 1), next: end};
}

/// The lines of the list item at `i`. Two columns of indent suffice for what belongs to it, since models often indent by two under "1.".
function itemLines(lines, i, mark) {
  const inner = [outdented(cut(lines[i], mark.chars), mark.width - mark.chars)], least = Math.min(mark.width, mark.indent + 2);
  let end = i + 1;
  for (; end < lines.length; ++end) {
    if (isBlank(lines[end])) inner.push({from: lines[end].from, text: ''});
    else if (indentOf(lines[end].text, least).columns >= least) inner.push(outdented(lines[end], mark.width));
    else if (isLazy(lines, end, inner)) inner.push(lines[end]);
    else break;
  }
  return {inner, end};
}

function listAt(lines, i, depth) {
  const first = itemMark(lines[i]);
  if (!first) return null;
  const list = {kind: 'list', start: first.number, items: [], loose: false, next: i};
  let gap = false;
  while (list.next < lines.length) {
    const mark = itemMark(lines[list.next]);
    if (mark?.type !== first.type) break;
    const {inner, end} = itemLines(lines, list.next, mark), blocks = blocksOf(inner, depth + 1);
    list.loose ||= gap || blocks.some(({first: begin}) => begin > 0 && isBlank(inner[begin - 1]));
    list.items.push(blocks);
    list.next = end;
    gap = isBlank(inner.at(-1));
  }
  return list;
}

/// The cells of a table's row, as lists of lines: one, or more where a backslash before a bar is left out.
function cellsOf(line) {
  const cells = [];
  let cell = [], begin = 0;
  const end = line.text.trimEnd().length;
  const add = (to) => cell.push({from: line.from + begin, text: line.text.slice(begin, to)});
  for (let i = 0; i < end; ++i) {
    if (line.text[i] === '\\' && line.text[i + 1] === '|') {
      add(i);
      begin = ++i;
    } else if (line.text[i] === '|') {
      add(i);
      cells.push(cell);
      cell = [];
      begin = i + 1;
    }
  }
  if (begin < end) {
    add(end);
    cells.push(cell);
  }
  if (cells.length > 0 && cells[0].length === 1 && isBlank(cells[0][0])) cells.shift();
  return cells;
}

function tableAt(lines, i) {
  const head = lines[i], under = lines[i + 1];
  if (!under || !head.text.includes('|') || !/^[ \t|:-]*$/.test(under.text) || !under.text.includes('-')) return null;
  const marks = cellsOf(under).map((cell) => cell[0].text.trim()), cells = cellsOf(head);
  if (marks.length !== cells.length || marks.length > most_columns || !marks.every((mark) => /^:?-+:?$/.test(mark))) return null;
  const alignOf = (mark) => (mark.endsWith(':') ? (mark.startsWith(':') ? 'center' : 'right') : '');
  const rows = [];
  let next = i + 2;
  for (; next < lines.length && !isBlank(lines[next]) && !quote_pattern.test(lines[next].text) && !fence_pattern.test(lines[next].text); ++next) {
    rows.push(cellsOf(lines[next]).slice(0, marks.length));
  }
  return {kind: 'table', aligns: marks.map(alignOf), head: cells, rows, decided: under.from, next};
}

function paragraphAt(lines, i) {
  let end = i + 1;
  for (; end < lines.length && !isBlank(lines[end]); ++end) {
    const [, under] = underline_pattern.exec(lines[end].text) ?? [];
    if (under) return {kind: 'heading', level: under[0] === '=' ? 1 : 2, lines: lines.slice(i, end), next: end + 1};
    if (interrupts(lines, end)) break;
  }
  return {kind: 'paragraph', lines: lines.slice(i, end), next: end};
}

/// The blocks of these lines, each with `first`, the number of its first line, and `decided`, the place of the line that made it begin there.
function blocksOf(lines, depth = 0) {
  const blocks = [];
  for (let i = 0; i < lines.length;) {
    if (isBlank(lines[i])) {
      ++i;
      continue;
    }
    const container = () => (depth < deepest_block ? quoteAt(lines, i, depth) ?? listAt(lines, i, depth) : null);
    const block = indentedAt(lines, i) ?? fenceAt(lines, i) ?? headingAt(lines, i) ?? ruleAt(lines, i) ?? container() ?? tableAt(lines, i) ??
      paragraphAt(lines, i);
    blocks.push({decided: lines[i].from, ...block, first: i, from: lines[i].from});
    i = block.next;
  }
  return blocks;
}

