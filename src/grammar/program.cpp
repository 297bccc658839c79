#include "grammar/program.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/status.h"
#include "text/utf8.h"

namespace skipstone::grammar {
namespace {

constexpr std::size_t most_nodes = 400'000;
constexpr std::size_t most_steps = 10 * most_nodes;  ///< expressions that are lowered, each as often as it is repeated, and edges

/// The last code point whose UTF-8 has `bytes` bytes.
constexpr std::array<char32_t, 5> last_of_length{0, 0x7F, 0x7FF, 0xFFFF, last_code_point};

}  // namespace

/// Builds nodes from a rule's end to its beginning: each expression is made in front of the node that follows it.
class Lowering {
 public:
  Lowering(const Syntax& syntax, Program& program) : syntax_(syntax), program_(program), nullable_(syntax.nullable()) {}

  void run() {
    rule_starts_.resize(syntax_.rules().size());
    program_.members_.resize(syntax_.rules().size());
    const NodeId start = rule_start(syntax_.root());
    while (!open_.empty()) {
      const RuleId rule = open_.back();
      open_.pop_back();
      current_ = rule;
      program_.members_[rule] = syntax_.rules()[rule].members;
      end_ = add({{.kind = EdgeKind::finish}});
      const NodeId body = lower(syntax_.rules()[rule].expr, end_);
      nodes_[*rule_starts_[rule]] = {{.target = body}};
    }
    program_.start_ = start;
    program_.twins_ = std::move(twins_);
    for (const std::vector<Edge>& node : nodes_) {
      program_.begins_.push_back(static_cast<std::uint32_t>(program_.edges_.size()));
      program_.edges_.insert(program_.edges_.end(), node.begin(), node.end());
    }
    program_.begins_.push_back(static_cast<std::uint32_t>(program_.edges_.size()));
  }

 private:
  NodeId add(std::vector<Edge> edges) {
    count_steps(edges.size());
    if (nodes_.size() >= most_nodes) refuse_size();
    nodes_.push_back(std::move(edges));
    twins_.push_back(static_cast<NodeId>(twins_.size()));
    return twins_.back();
  }

  [[noreturn]] static void refuse_size() {
    fail(Code::invalid_argument, "the grammar has more than {} states; use smaller repetition counts", most_nodes);
  }

  void count_steps(std::size_t steps) {
    steps_ += steps;
    if (steps_ > most_steps) refuse_size();
  }

  NodeId rule_start(RuleId rule) {
    if (!rule_starts_[rule]) {
      rule_starts_[rule] = add({});
      open_.push_back(rule);
    }
    return *rule_starts_[rule];
  }

  NodeId lower(ExprId id, NodeId next) {
    count_steps(1);
    const Expr& expr = syntax_.expr(id);
    switch (expr.kind) {
      case ExprKind::text:
        return lower_text(expr.text, next);
      case ExprKind::chars:
        return lower_chars(expr.chars, next);
      case ExprKind::sequence:
        for (auto child = expr.children.rbegin(); child != expr.children.rend(); ++child) next = lower(*child, next);
        return next;
      case ExprKind::choice:
        return lower_choice(expr, next);
      case ExprKind::repeat:
        return lower_repeat(expr, next);
      case ExprKind::rule:
        return lower_reference(expr.rule, next);
      case ExprKind::member:
        return add({{.kind = EdgeKind::member, .target = next, .callee = expr.least}});
      case ExprKind::complete:
        return add({{.kind = EdgeKind::complete, .target = next, .callee = current_}});
    }
    return next;
  }

  NodeId lower_text(const std::string& bytes, NodeId next) {
    for (auto byte = bytes.rbegin(); byte != bytes.rend(); ++byte) next = add_byte(*byte, *byte, next);
    return next;
  }

  NodeId lower_choice(const Expr& expr, NodeId next) {
    std::vector<Edge> edges;
    for (const ExprId child : expr.children) edges.push_back({.target = lower(child, next)});
    return add(std::move(edges));
  }

  NodeId lower_repeat(const Expr& expr, NodeId next) {
    const ExprId child = expr.children.front();
    if (expr.most == unbounded) {
      const NodeId loop = add({});
      const NodeId body = lower(child, loop);
      nodes_[loop] = {{.target = body}, {.target = next}};
      next = loop;
    } else {
      const NodeId after = next;
      next = lower_rounds(child, expr.most - expr.least, next, [&](NodeId body) { return add({{.target = body}, {.target = after}}); });
    }
    return lower_rounds(child, expr.least, next, [](NodeId body) { return body; });
  }

  /// `count` rounds of a repetition, the last first; `enter` makes the node where a round begins. Rounds with more after them than
  /// twin_bytes can read are twins of the round that has just as many. Rounds of the empty text alone are none.
  template <typename Enter>
  NodeId lower_rounds(ExprId child, std::uint32_t count, NodeId next, Enter&& enter) {
    const bool has_twins = count > Program::twin_bytes + 1 && !nullable_[child];
    std::size_t model = 0, size = 0;
    for (std::uint32_t after = 0; after < count; ++after) {
      const std::size_t begin = nodes_.size();
      const NodeId body = lower(child, next);
      if (body == next) break;
      next = enter(body);
      if (after == Program::twin_bytes) {
        model = begin;
        size = nodes_.size() - begin;
      } else if (after > Program::twin_bytes && has_twins && nodes_.size() - begin == size) {
        for (std::size_t i = 0; i < size; ++i) twins_[begin + i] = twins_[model + i];
      }
    }
    return next;
  }

  /// A call at a rule's end is a jump, so that right recursion needs no stack. Rules of objects keep frames of their own.
  NodeId lower_reference(RuleId rule, NodeId next) {
    const NodeId start = rule_start(rule);
    const bool jumps = next == end_ && !syntax_.rules()[rule].has_members && !syntax_.rules()[current_].has_members;
    return jumps ? start : add({{.kind = EdgeKind::call, .target = next, .callee = start}});
  }

  NodeId add_byte(char low, char high, NodeId next) { return add({byte_edge(low, high, next)}); }
  static Edge byte_edge(char low, char high, NodeId next) {
    return {.kind = EdgeKind::byte, .low = static_cast<std::uint8_t>(low), .high = static_cast<std::uint8_t>(high), .target = next};
  }

  NodeId lower_chars(const CodePoints& set, NodeId next) {
    std::vector<Edge> edges;
    continuations_ = {next, std::nullopt, std::nullopt, std::nullopt};
    for (const CodePoints::Range& range : set.ranges()) {
      char32_t first = range.first;
      for (std::size_t length = 1; length <= 4 && first <= range.last; ++length) {
        if (first > last_of_length[length]) continue;
        const char32_t last = std::min(range.last, last_of_length[length]);
        std::string low, high;
        text::append_utf8(low, first);
        text::append_utf8(high, last);
        lower_bytes(low, high, edges);
        first = last + 1;
      }
    }
    return add(std::move(edges));
  }

  /// The node from which `count` continuation bytes lead to the node after the character.
  NodeId continuation(std::size_t count) {
    NodeId node = continuations_.front().value();
    for (std::size_t i = 1; i <= count; ++i) {
      if (!continuations_[i]) continuations_[i] = add_byte('\x80', '\xBF', node);
      node = *continuations_[i];
    }
    return node;
  }

  /// Adds edges that read the characters from `low` to `high`, which have the same number of bytes.
  void lower_bytes(std::string_view low, std::string_view high, std::vector<Edge>& edges) {
    const std::size_t rest = low.size() - 1;
    if (rest == 0) {
      edges.push_back(byte_edge(low[0], high[0], continuation(0)));
      return;
    }
    const std::string least(rest, '\x80'), most(rest, '\xBF');
    const auto add_under = [&](char byte, std::string_view from, std::string_view to) {
      std::vector<Edge> under;
      lower_bytes(from, to, under);
      edges.push_back(byte_edge(byte, byte, add(std::move(under))));
    };
    auto begin = static_cast<unsigned char>(low[0]), end = static_cast<unsigned char>(high[0]);
    if (begin == end && (low.substr(1) != least || high.substr(1) != most)) return add_under(low[0], low.substr(1), high.substr(1));
    if (low.substr(1) != least) {
      add_under(low[0], low.substr(1), most);
      ++begin;
    }
    const bool cut = high.substr(1) != most;
    if (cut) --end;
    if (begin <= end) edges.push_back(byte_edge(static_cast<char>(begin), static_cast<char>(end), continuation(rest)));
    if (cut) add_under(high[0], least, high.substr(1));
  }

  const Syntax& syntax_;
  Program& program_;
  std::vector<std::vector<Edge>> nodes_;
  std::vector<NodeId> twins_;   ///< of each node
  std::vector<bool> nullable_;  ///< of each expression, whether it matches the empty text
  std::size_t steps_ = 0;
  std::vector<std::optional<NodeId>> rule_starts_;
  std::vector<RuleId> open_;  ///< rules that have a start and no nodes yet
  std::array<std::optional<NodeId>, 4> continuations_;
  RuleId current_ = 0;
  NodeId end_ = 0;
};

Program::Program(const Syntax& syntax) { Lowering(syntax, *this).run(); }

}  // namespace skipstone::grammar
