#include <array>

#include "fuzz/mutator.h"

namespace skipstone::fuzz {
namespace {

/// What takes long, grows, or nests; and what is merely odd.
constexpr std::array hostile_expressions = {"range(100000)",
                                            "range(99999)|list|string",
                                            "'x' * 100000000",
                                            "'ab' * 4000000",
                                            "[0] * 100000000",
                                            "messages * 10000",
                                            "range(90000)|map('string')|join",
                                            "'a' * 8000000|upper",
                                            "('a' * 1000000).replace('a', 'b' * 1000)",
                                            "('a,' * 500000).split(',')",
                                            "'a' * 3000000 in 'a' * 4000000 ~ 'b'",
                                            "2 ** 62",
                                            "2 ** 1000000",
                                            "9999999999999999999999",
                                            "-9223372036854775807 - 1",
                                            "1 // 0",
                                            "messages[::-1][::2]",
                                            "messages[:10000000000]",
                                            "messages|tojson(indent=1000)",
                                            "messages|string|list|unique|list",
                                            "range(100000)|sort(reverse=true)|list",
                                            "range(50000)|unique|list",
                                            "f(f)",
                                            "f()",
                                            "caller()",
                                            "loop.index",
                                            "loop",
                                            "ns",
                                            "[ns, ns]|tojson",
                                            "messages|selectattr('role', 'in', messages)|list",
                                            "messages|map('map', 'map', 'length')|list",
                                            "self",
                                            "''.__class__",
                                            "messages.append(messages)",
                                            "messages|groupby('role')",
                                            "none",
                                            "tools",
                                            "{}",
                                            "{messages: 1}",
                                            "'%s' * 1000 % messages",
                                            "('a' * 1000000).center(8000000)",
                                            "'a'.center(9999999999)",
                                            "'\\ud800\\xff'",
                                            "-messages",
                                            "not messages",
                                            "messages.0.content",
                                            "messages[0]['content'][0]",
                                            "''|int(base=99)",
                                            "1e308 * 10",
                                            "messages|batch(1)|list|batch(1)|list",
                                            "messages|slice(100000)|list",
                                            "[[[[[[[[[[]]]]]]]]]]",
                                            "strftime_now('%' * 1000)",
                                            "raise_exception(messages)"};
constexpr std::array hostile_blocks = {
    "{% for a in range(100000) %}{% for b in range(100000) %}{{ a }}{% endfor %}{% endfor %}",
    "{% macro f(x) %}{{ f(x) }}{{ f(x) }}{% endmacro %}{{ f(1) }}",
    "{% macro f(x) %}{% for y in messages %}{{ f(y) }}{% endfor %}{% endmacro %}{{ f(1) }}",
    "{% set ns = namespace(x='ab') %}{% for a in range(1000) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
    "{% set ns = namespace(x=[]) %}{% for a in range(100000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}",
    "{% set ns = namespace() %}{% set ns.x = ns %}{% set ns.y = [ns] %}{{ ns.x.y }}",
    "{% set ns = namespace(x={}) %}{% for a in range(9999) %}{% set ns.x = dict(ns.x, **{a|string: a}) %}{% endfor %}",
    "{% for a in range(100000) %}{{ messages }}{% endfor %}",
    "{% for a in range(100000) %}{% set x = namespace(y=a) %}{% endfor %}",
    "{% for a in range(100000) %}{% macro g() %}{{ g }}{% endmacro %}{% endfor %}",
    "{% set x %}{% for a in range(100000) %}aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa{% endfor %}{% endset %}{{ x }}{{ x }}{{ x }}{{ x }}",
    "{% filter upper|replace('A', 'aaaaaaaaaaaaaaaaaaaaa') %}{% for a in range(100000) %}aaaaaaaa{% endfor %}{% endfilter %}",
    "{% raw %}",
    "{% call f() %}{% call f() %}{% endcall %}{% endcall %}",
    "{% if 1 %}",
    "{% endif %}",
    "{% else %}",
    "{% endfor %}",
    "{#",
    "{{",
    "{%",
    "{%- break -%}",
    "{% set x = x, x %}",
    "{% generation %}",
    "{% with %}{% endwith %}"};

/// The pieces between "{", "}", "%", "|" and the like: tags, expressions, words.
std::vector<std::string> pieces_of(const std::string& text) {
  std::vector<std::string> pieces(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = text.compare(i, 2, "{{") == 0 || text.compare(i, 2, "{%") == 0 || text.compare(i, 2, "{#") == 0;
    const bool marks = std::string_view(" |()[].,+-=<>'\"").find(text[i]) != std::string_view::npos;
    if ((begins || marks) && !pieces.back().empty()) pieces.emplace_back();
    pieces.back() += text[i];
    if (i > 0 && text[i] == '}' && (text[i - 1] == '}' || text[i - 1] == '%' || text[i - 1] == '#')) pieces.emplace_back();
  }
  return pieces;
}

std::string joined(const std::vector<std::string>& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

void change_pieces(std::vector<std::string>& pieces, const std::vector<std::string>& others, Random& random) {
  std::size_t at = random.below(pieces.size());
  if (random.one_in(2)) {  // between tags, so that more of the changed templates are templates still
    while (at + 1 < pieces.size() && pieces[at].compare(0, 2, "{{") != 0 && pieces[at].compare(0, 2, "{%") != 0) ++at;
  }
  const auto place = pieces.begin() + static_cast<std::ptrdiff_t>(at);
  const std::size_t count = std::min<std::size_t>(random.below(6), pieces.size() - at);
  switch (random.below(8)) {
    case 0:
      pieces.erase(place, place + static_cast<std::ptrdiff_t>(count));
      break;
    case 1:
      pieces[at] = random.pick(pieces);
      break;
    case 2: {
      const std::vector<std::string> again(place, place + static_cast<std::ptrdiff_t>(count));
      const std::size_t times = random.one_in(8) ? 1 + random.below(400) : 1;
      for (std::size_t i = 0; i < times; ++i) pieces.insert(pieces.begin() + static_cast<std::ptrdiff_t>(at), again.begin(), again.end());
      break;
    }
    case 3:
      std::swap(pieces[at], random.pick(pieces));
      break;
    case 4:
      pieces.insert(place, std::string("{{ ") + random.pick(hostile_expressions) + " }}");
      break;
    case 5:
      pieces.insert(place, random.pick(hostile_blocks));
      break;
    case 6: {
      // Where a value is.
      std::string& piece = pieces[at];
      piece = (piece.empty() ? std::string() : piece.substr(0, 1)) + "(" + random.pick(hostile_expressions) + ")";
      break;
    }
    default: {
      const std::size_t from = random.below(others.size());
      const std::size_t some = std::min<std::size_t>(random.below(40), others.size() - from);
      pieces.insert(place, others.begin() + static_cast<std::ptrdiff_t>(from), others.begin() + static_cast<std::ptrdiff_t>(from + some));
    }
  }
  if (pieces.empty()) pieces.emplace_back();
}

void change_bytes(std::string& text, Random& random) {
  if (text.empty()) return;
  const std::size_t at = random.below(text.size());
  switch (random.below(5)) {
    case 0:
      text[at] = static_cast<char>(random.next());
      break;
    case 1:
      text.erase(at, 1 + random.below(20));
      break;
    case 2:
      text.insert(at, text.substr(random.below(text.size()), random.below(60)));
      break;
    case 3:
      text.insert(at, 1 + (random.one_in(4) ? random.below(3000) : 0), "({[-~'\"|"[random.below(8)]);
      break;
    default:
      text.resize(at);
  }
}

}  // namespace

std::string mutated_template(const std::vector<std::string>& templates, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::string> pieces = pieces_of(templates[random.below(templates.size())]);
  const std::vector<std::string> others = pieces_of(templates[random.below(templates.size())]);
  for (std::size_t changes = random.below(4); changes > 0; --changes) change_pieces(pieces, others, random);
  std::string text = joined(pieces);
  for (std::size_t changes = random.one_in(3) ? random.below(4) : 0; changes > 0; --changes) change_bytes(text, random);
  return text;
}

}  // namespace skipstone::fuzz
