#include "grammar/schema/compiler.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "grammar/notations.h"

namespace skipstone::grammar::schema {
namespace {

constexpr std::size_t most_rules = 20'000, most_prefix = 256;
constexpr std::size_t most_alternatives = 64;  ///< strings of an enum that are followed side by side, each as one text

}  // namespace

ExprId Compiler::value(Conjunction schemas, const std::string& name) {
  std::erase_if(schemas, [](const SortedJson* schema) { return *schema == true || (schema->is_object() && schema->empty()); });
  std::ranges::sort(schemas);
  schemas.erase(std::unique(schemas.begin(), schemas.end()), schemas.end());
  if (schemas.empty()) return json_.any_value();
  const auto [known, is_new] = rules_.emplace(schemas, 0);
  if (is_new) {
    if (rules_.size() > most_rules) fail(Code::unsupported, "the schema needs more than {} rules", most_rules);
    known->second = syntax_.add_rule(name);
    pending_.push_back({known->second, std::move(schemas)});
  }
  return syntax_.reference(known->second);
}

void Compiler::define_rules() {
  for (std::size_t i = 0; i < pending_.size(); ++i) {  // it grows meanwhile
    const Pending next = pending_[i];
    const std::string name = syntax_.rule(next.rule).name;
    std::vector<ExprId> alternatives;
    try {
      for (const Shape& one : shapes_.of(next.schemas)) alternatives.push_back(shape(one, name));
    } catch (const Error& error) {
      const std::string_view sentence = error.what();
      if (sentence.starts_with('#')) throw;  // it names its place
      const std::string place = document_.pointer(*next.schemas.front());
      fail_about(place, error.code(), "{}: {}", place, sentence);
    }
    syntax_.define(next.rule, syntax_.choice(std::move(alternatives)));
  }
}

ExprId Compiler::shape(const Shape& shape, const std::string& name) {
  if (shape.values) return constants(shape);
  std::vector<ExprId> alternatives;
  const auto has = [&](Type type) { return (shape.types & type) != 0; };
  if (has(object_type)) alternatives.push_back(object(shape, name));
  if (has(array_type)) alternatives.push_back(shape.contained.empty() ? array(shape, name) : array_with(shape, name));
  if (has(string_type)) alternatives.push_back(string(shape));
  if (has(number_type)) alternatives.push_back(json_.number(shape.numbers));
  if (has(boolean_type)) alternatives.push_back(syntax_.choice({syntax_.text("true"), syntax_.text("false")}));
  if (has(null_type)) alternatives.push_back(syntax_.text("null"));
  return syntax_.choice(std::move(alternatives));
}

ExprId Compiler::constants(const Shape& shape) {
  std::vector<ExprId> alternatives;
  std::vector<std::string> strings;
  for (const SortedJson* value : *shape.values) {
    if (value->is_string()) {
      strings.push_back(value->get<std::string>());
    } else {
      alternatives.push_back(json_.constant(*value));
    }
  }
  if (strings.size() > most_alternatives) {
    alternatives.push_back(json_.string(TextAutomaton::of_texts(strings)));
  } else {
    for (const std::string& one : strings) alternatives.push_back(json_.string(std::string_view(one)));
  }
  return syntax_.choice(std::move(alternatives));
}

ExprId Compiler::string(const Shape& shape) {
  if (const auto texts = shapes_.texts(shape)) return json_.string(*texts);
  return json_.string(shape.lengths.least, shape.lengths.most);
}

ExprId Compiler::item(const Shape& shape, std::size_t index, const std::string& name) {
  return value(shapes_.item(shape, index), name + "-item");
}

ExprId Compiler::array(const Shape& shape, const std::string& name) {
  const std::uint32_t least = shape.items.least, most = shape.items.most;
  const std::size_t prefix = std::max<std::size_t>(shapes_.prefix(shape), 1);
  if (prefix > most_prefix)
    fail(Code::unsupported, "{}: prefixItems has more than {} schemas", document_.pointer(*shape.arrays.front()), most_prefix);
  // From the back: the items after those that have a place of their own, then each of these with what may follow it.
  const auto left = [&](std::uint32_t count) {
    return count == unbounded ? unbounded : count - std::min<std::uint32_t>(count, static_cast<std::uint32_t>(prefix));
  };
  ExprId inner = syntax_.repeat(syntax_.sequence({json_.comma(), item(shape, prefix, name)}), left(least), left(most));
  for (std::size_t i = prefix; i-- > 0;) {
    std::vector<ExprId> parts;
    if (i > 0) parts.push_back(json_.comma());
    parts.push_back(item(shape, i, name));
    parts.push_back(inner);
    if (i >= most) {
      inner = syntax_.empty();
    } else {
      inner = syntax_.sequence(std::move(parts));
      if (i >= least) inner = syntax_.optional(inner);
    }
  }
  return json_.brackets("[", inner, "]");
}

/// An array with an item that fits `contains`, wherever it is.
ExprId Compiler::array_with(const Shape& shape, const std::string& name) {
  if (shape.contained.size() > 1 || shapes_.prefix(shape) > 0 || shape.items.least > 1 || shape.items.most != unbounded) {
    fail(Code::unsupported, "{}: contains is enforced without prefixItems, maxItems, a minItems above 1 and a second contains",
         document_.pointer(*shape.contained.front()));
  }
  Conjunction schemas = shapes_.item(shape, 0);
  const ExprId any = value(schemas, name + "-item");
  schemas.push_back(shape.contained.front());
  const ExprId wanted = value(schemas, name + "-contained");
  const ExprId before = syntax_.repeat(syntax_.sequence({any, json_.comma()}), 0, unbounded);
  const ExprId after = syntax_.repeat(syntax_.sequence({json_.comma(), any}), 0, unbounded);
  return json_.brackets("[", syntax_.sequence({before, wanted, after}), "]");
}

Syntax parse_schema(std::string_view text, Form form) {
  const Document document(text);
  const auto compiled = [&](Form wanted) {
    Syntax syntax;
    Compiler compiler(document, syntax, wanted);
    const RuleId root = syntax.add_rule("root");
    const ExprId value = compiler.value({&document.root()}, "value");
    compiler.define_rules();
    const ExprId blanks = compiler.json().blanks();
    syntax.define(root, wanted == Form::any ? syntax.sequence({blanks, value, blanks}) : value);
    syntax.finish(root);
    return syntax;
  };
  // What a model can write decides whether a schema is accepted: objects in any order hide that a member which must be there cannot be.
  Syntax written = compiled(Form::writing);
  return form == Form::writing ? std::move(written) : compiled(Form::any);
}

Syntax any_object(Form form) {
  Syntax syntax;
  JsonText json(syntax, form);
  const RuleId root = syntax.add_rule("root");
  const ExprId object = json.any_object();
  syntax.define(root, form == Form::any ? syntax.sequence({json.blanks(), object, json.blanks()}) : object);
  syntax.finish(root);
  return syntax;
}

}  // namespace skipstone::grammar::schema
