// Objects: members in the order of the schema, as a model writes them, or in any order.
#include <algorithm>
#include <utility>

#include "base/status.h"
#include "grammar/schema/compiler.h"

namespace skipstone::grammar::schema {
namespace {

constexpr std::size_t most_patterns = 6;
constexpr std::size_t most_names = 2000;  ///< of one object: each is a stack or two of the state where a member may begin

}  // namespace

/// The members of one object as rules, each of which is a place in the order and how many members there are before it.
class MembersInOrder {
 public:
  MembersInOrder(Compiler& compiler, const Shape& shape, const std::string& name)
      : compiler_(compiler), syntax_(compiler.syntax_), shape_(shape), name_(name), declared_(compiler.declared(shape)) {
    for (const auto& others : compiler.other_members(shape, declared_)) {
      if (compiler.writes_others(shape, declared_, others)) others_.push_back(compiler.other_member(others, {}));
    }
    // More members than matter need not be told apart.
    counted_ = std::max<std::uint32_t>(shape.members.most == unbounded ? shape.members.least : shape.members.most, 1);
    counted_ = std::min<std::uint32_t>(counted_, static_cast<std::uint32_t>(declared_.size()) + 1);
  }

  ExprId add() {
    const ExprId all = from(0, 0);
    for (std::size_t i = 0; i < pending_.size(); ++i) define(pending_[i]);  // it grows meanwhile
    return all;
  }

 private:
  /// A place in the order from which an optional member and what may follow it are a rule.
  struct Place {
    std::size_t at = 0;
    std::uint32_t count = 0;
    RuleId rule = 0;
  };

  /// What may come from the member `at` on, where `count` members are there.
  ExprId from(std::size_t at, std::uint32_t count) {
    std::vector<ExprId> parts;
    for (; at < declared_.size() && shape_.requires_member(declared_[at]); ++at) {
      if (count >= shape_.members.most) return syntax_.nothing();
      add_member(parts, at, count);
      count = std::min(count + 1, counted_);
    }
    parts.push_back(at == declared_.size() ? rest(count) : optional(at, count));
    return syntax_.sequence(std::move(parts));
  }

  void add_member(std::vector<ExprId>& parts, std::size_t at, std::uint32_t count) {
    if (count > 0) parts.push_back(compiler_.json_.comma());
    parts.push_back(compiler_.member(shape_, declared_[at], {}));
  }

  ExprId optional(std::size_t at, std::uint32_t count) {
    const auto [known, is_new] = rules_.emplace(std::pair(at, count), 0);
    if (is_new) {
      known->second = syntax_.add_rule(name_ + "-members");
      pending_.push_back({at, count, known->second});
    }
    return syntax_.reference(known->second);
  }

  void define(Place place) {
    std::vector<ExprId> alternatives;
    if (place.count < shape_.members.most) {
      std::vector<ExprId> parts;
      add_member(parts, place.at, place.count);
      parts.push_back(from(place.at + 1, std::min(place.count + 1, counted_)));
      alternatives.push_back(syntax_.sequence(std::move(parts)));
    }
    alternatives.push_back(from(place.at + 1, place.count));
    syntax_.define(place.rule, syntax_.choice(std::move(alternatives)));
  }

  /// Members whose names the schema does not have.
  ExprId rest(std::uint32_t count) {
    const std::uint32_t needed = count >= shape_.members.least ? 0 : shape_.members.least - count;
    if (others_.empty() || count >= shape_.members.most) return needed == 0 ? syntax_.empty() : syntax_.nothing();
    if (needed > 1) {
      fail(Code::unsupported, "minProperties: is enforced where at most one name that the schema does not have is needed, and {} are",
           needed);
    }
    const ExprId other = syntax_.choice(others_);
    const std::uint32_t room = shape_.members.most == unbounded ? unbounded : shape_.members.most - count;
    const ExprId more = syntax_.sequence({compiler_.json_.comma(), other});
    if (count > 0) return syntax_.repeat(more, needed, room);
    const ExprId all = syntax_.sequence({other, syntax_.repeat(more, 0, room == unbounded ? unbounded : room - 1)});
    return needed == 0 ? syntax_.optional(all) : all;
  }

  Compiler& compiler_;
  Syntax& syntax_;
  const Shape& shape_;
  const std::string& name_;
  std::vector<std::string> declared_;
  std::vector<ExprId> others_;
  std::uint32_t counted_ = 1;
  std::map<std::pair<std::size_t, std::uint32_t>, RuleId> rules_;  ///< of places and counts
  std::vector<Place> pending_;                                     ///< those whose rules are to be defined
};

/// The names that the schemas have, in their order.
std::vector<std::string> Compiler::declared(const Shape& shape) const {
  std::vector<std::string> names;
  std::set<std::string> seen;
  const auto add = [&](const std::string& name) {
    if (seen.insert(name).second) names.push_back(name);
  };
  for (const SortedJson* object : shape.objects) {
    const auto properties = object->find("properties");
    if (properties == object->end()) continue;
    for (const std::string& name : document_.keys(*properties)) add(name);
  }
  for (const std::string& name : shape.required) add(name);
  for (const std::string& name : shape.forbidden) add(name);
  if (names.size() > most_names) fail(Code::unsupported, "an object has more than {} names of members", most_names);
  return names;
}

std::vector<Compiler::OtherMembers> Compiler::other_members(const Shape& shape, const std::vector<std::string>& declared) const {
  std::set<std::string> different;
  for (const SortedJson* object : shape.objects) {
    const auto found = object->find("patternProperties");
    if (found == object->end()) continue;
    for (const auto& [pattern, schema] : found->items()) different.insert(pattern);
  }
  const std::vector<std::string> patterns(different.begin(), different.end());
  if (patterns.size() > most_patterns)
    fail(Code::unsupported, "{}: patternProperties with more than {} patterns together", document_.pointer(*shape.objects.front()),
         most_patterns);
  std::optional<TextAutomaton> free;  // the names that the schema does not have; made where they are needed
  std::vector<OtherMembers> all;
  for (unsigned matching = 0; matching < 1U << patterns.size(); ++matching) {
    Conjunction schemas;
    for (const SortedJson* object : shape.objects) {
      bool matched = false;
      for (std::size_t i = 0; i < patterns.size(); ++i) {
        const auto found = object->find("patternProperties");
        if ((matching >> i & 1U) == 0 || found == object->end() || !found->contains(patterns[i])) continue;
        schemas.push_back(&found->at(patterns[i]));
        matched = true;
      }
      const auto others = object->find("additionalProperties");
      if (!matched && others != object->end()) schemas.push_back(&*others);
    }
    if (std::ranges::any_of(schemas, [](const SortedJson* schema) { return *schema == false; })) continue;
    if (!free) {
      free = TextAutomaton() - TextAutomaton::of_texts(declared);
      if (const TextAutomaton* const allowed = shapes_.names(shape)) free = *free & *allowed;
    }
    TextAutomaton names = *free;
    for (std::size_t i = 0; i < patterns.size() && !names.is_empty(); ++i)
      names = shapes_.counted((matching >> i & 1U) != 0 ? names & shapes_.pattern(patterns[i]) : names - shapes_.pattern(patterns[i]));
    if (!names.is_empty()) all.push_back({std::move(names), std::move(schemas)});
  }
  return all;
}

/// Whether a model may write members whose names the schema does not have: where a schema is given for them, where the object has no
/// others, and where there would be too few.
bool Compiler::writes_others(const Shape& shape, const std::vector<std::string>& declared, const OtherMembers& others) const {
  return !others.schemas.empty() || declared.empty() || shape.members.least > shape.required.size();
}

ExprId Compiler::member(const Shape& shape, const std::string& key, const std::vector<ExprId>& after_name) {
  const auto schemas = shapes_.member(shape, key);
  if (!schemas) return syntax_.nothing();
  std::vector<ExprId> parts{json_.string(std::string_view(key))};
  parts.insert(parts.end(), after_name.begin(), after_name.end());
  parts.push_back(json_.colon());
  parts.push_back(value(*schemas, key));
  return syntax_.sequence(std::move(parts));
}

ExprId Compiler::other_member(const OtherMembers& others, const std::vector<ExprId>& after_name) {
  const TextAutomaton& names = others.names;
  const bool any = names.states().size() == 1 && names.states().front().accepts && names.states().front().edges.size() == 1;
  std::vector<ExprId> parts{any ? json_.string() : json_.string(names)};
  parts.insert(parts.end(), after_name.begin(), after_name.end());
  parts.push_back(json_.colon());
  parts.push_back(value(others.schemas, "other"));
  return syntax_.sequence(std::move(parts));
}

ExprId Compiler::object(const Shape& shape, const std::string& name) {
  return form_ == Form::writing ? object_in_order(shape, name) : object_in_any_order(shape, name);
}

ExprId Compiler::object_in_order(const Shape& shape, const std::string& name) {
  return json_.brackets("{", MembersInOrder(*this, shape, name).add(), "}");
}

ExprId Compiler::object_in_any_order(const Shape& shape, const std::string& name) {
  const std::vector<std::string> names = declared(shape);
  Members limits{.least = shape.members.least, .most = shape.members.most};
  std::vector<ExprId> members;
  for (std::uint32_t i = 0; i < names.size(); ++i) {
    members.push_back(member(shape, names[i], {syntax_.member(i)}));
    if (shape.requires_member(names[i])) limits.required.push_back(i);
  }
  for (const OtherMembers& others : other_members(shape, names))
    members.push_back(other_member(others, {syntax_.member(undeclared_member)}));
  return json_.object_in_any_order(name, members, limits);
}

}  // namespace skipstone::grammar::schema
