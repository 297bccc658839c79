// What schemas that hold at once say of a value, keyword by keyword.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "grammar/json_text.h"
#include "grammar/schema/document.h"

namespace skipstone::grammar::schema {

/// Schemas that a value has to fit all at once.
using Conjunction = std::vector<const SortedJson*>;

enum Type : unsigned {
  null_type = 1,
  boolean_type = 2,
  number_type = 4,
  string_type = 8,
  array_type = 16,
  object_type = 32,
  all_types = 63
};

/// The bit of a value's type.
Type type_of(const SortedJson& value);

/// Counts of characters, items or members.
struct Counts {
  std::uint32_t least = 0, most = unbounded;
  bool is_empty() const { return least > most; }
};

/// One alternative of what schemas allow: keywords of them all, without anyOf, oneOf, allOf and $ref, which are resolved.
struct Shape {
  unsigned types = all_types;
  std::optional<std::vector<const SortedJson*>> values;  ///< of enum and const
  NumberLimits numbers;
  Counts lengths, items, members;
  std::vector<std::string> patterns, formats;
  Conjunction arrays;   ///< schemas with prefixItems or items
  Conjunction objects;  ///< schemas with properties, patternProperties or additionalProperties
  Conjunction contained, names;
  std::vector<std::string> required;     ///< in the order of the schemas, each once
  std::set<std::string> required_names;  ///< the same
  std::set<std::string> forbidden;       ///< names that members must not have

  bool requires_member(const std::string& key) const { return required_names.contains(key); }
  void require_member(const std::string& key);
};

/// The order of the values that pointers lead to.
struct ByValue {
  bool operator()(const SortedJson* a, const SortedJson* b) const { return *a < *b; }
};
using ValueSet = std::set<const SortedJson*, ByValue>;

/// Reads schemas into shapes.
class Shapes {
 public:
  Shapes(const Document& document, Form form) : document_(document), form_(form) {}

  /// The alternatives that fit all of the schemas; a value fits where one of them does. None where nothing can fit. Throws for a keyword
  /// that is not enforced, with its place, and where schemas cannot be merged.
  std::vector<Shape> of(const Conjunction& schemas) const;

  /// The schemas of the member `key` of objects of a shape; nothing where its name is not allowed.
  std::optional<Conjunction> member(const Shape& shape, const std::string& key) const;
  /// The schemas of the item at `index`.
  Conjunction item(const Shape& shape, std::size_t index) const;
  /// How many items have a place of their own in a prefixItems.
  std::size_t prefix(const Shape& shape) const;
  /// The texts that fit a shape as strings; nothing where lengths alone are limited, or nothing is.
  std::optional<TextAutomaton> texts(const Shape& shape) const;
  /// The names that members may have; nullptr where all may.
  const TextAutomaton* names(const Shape& shape) const;
  /// The names in some part of which `regex` fits.
  const TextAutomaton& pattern(const std::string& regex) const;
  /// Counts what it took to make an automaton; throws unsupported where a schema takes too much.
  TextAutomaton counted(TextAutomaton automaton) const;

 private:
  using Test = std::function<bool(const SortedJson& value)>;
  /// Whether a value of an enum fits the shape's other keywords.
  Test fitting(const Shape& shape) const;
  bool is_limited(const SortedJson& value, const Shape& shape) const;
  void apply(const SortedJson& schema, std::vector<Shape>& shapes) const;
  void apply_any(const SortedJson& schemas, std::vector<Shape>& shapes, bool exclusive) const;
  void apply_dependency(const std::string& key, const SortedJson& dependency, std::vector<Shape>& shapes) const;
  void count_work(std::size_t steps) const;
  void refuse_many(const SortedJson& schemas, const std::vector<Shape>& shapes) const;
  void require_disjoint(const SortedJson& schemas, const std::vector<std::vector<Shape>>& alternatives) const;
  bool is_disjoint(const Shape& a, const Shape& b, int depth) const;
  bool has_disjoint_member(const Shape& a, const Shape& b, int depth) const;
  bool are_disjoint(const std::vector<Shape>& a, const std::vector<Shape>& b, int depth) const;

  const Document& document_;
  Form form_;
  mutable std::set<const SortedJson*> open_;  ///< schemas that are being applied, to find those that refer to themselves
  mutable std::map<std::string, TextAutomaton> patterns_;
  mutable std::map<Conjunction, TextAutomaton> names_;
  mutable std::size_t applied_ = 0, work_ = 0;
};

/// Adds what a schema's own keywords say. Throws for keywords that are not enforced and for values that they cannot have.
void add_keywords(const Document& document, const SortedJson& schema, Shape& shape, Form form);

}  // namespace skipstone::grammar::schema
