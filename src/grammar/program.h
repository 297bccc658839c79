// A grammar lowered to bytes: the rules as nodes whose edges read a byte, call a rule, or read nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "grammar/syntax.h"

namespace skipstone::grammar {

using NodeId = std::uint32_t;

enum class EdgeKind : std::uint8_t {
  byte,      ///< reads a byte from `low` to `high`
  skip,      ///< reads nothing
  call,      ///< enters the rule at `callee`, and goes to `target` when that ends
  finish,    ///< the rule ends
  member,    ///< as ExprKind::member, the number in `callee`
  complete,  ///< as ExprKind::complete, the rule in `callee`
};

struct Edge {
  EdgeKind kind = EdgeKind::skip;
  std::uint8_t low = 0, high = 0;
  NodeId target = 0;
  std::uint32_t callee = 0;
};

/// Immutable. UTF-8 is exact: a class's characters are read as the sequences of bytes that they are.
class Program {
 public:
  /// Of a finished Syntax. Throws invalid_argument where the grammar becomes too large.
  explicit Program(const Syntax& syntax);

  NodeId start() const { return start_; }
  std::span<const Edge> edges(NodeId node) const { return {edges_.data() + begins_[node], edges_.data() + begins_[node + 1]}; }
  /// A node from which the same texts of up to `twin_bytes` bytes can be read, if not the same longer ones: in the middle of a repetition
  /// that is bounded, all of its rounds are alike. The node itself where there is no other.
  NodeId twin(NodeId node) const { return twins_[node]; }
  static constexpr std::uint32_t twin_bytes = 32;
  const Members& members(RuleId rule) const { return members_[rule]; }

 private:
  friend class Lowering;

  NodeId start_ = 0;
  std::vector<std::uint32_t> begins_;  ///< of each node's edges, and their end
  std::vector<Edge> edges_;
  std::vector<NodeId> twins_;
  std::vector<Members> members_;  ///< of each rule
};

}  // namespace skipstone::grammar
