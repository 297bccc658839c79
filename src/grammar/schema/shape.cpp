#include "grammar/schema/shape.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "grammar/schema/keywords.h"
#include "text/utf8.h"

namespace skipstone::grammar::schema {
namespace {

constexpr std::size_t most_shapes = 256, most_exclusive = 100;
constexpr std::size_t most_applied = 200'000;  ///< schemas that are read, each as often as it is referred to
constexpr std::size_t most_work = 300'000;     ///< states of automata, and values and members that are compared
constexpr int deepest_comparison = 4;

/// Ends an entry of a set with the scope.
class Entered {
 public:
  Entered(std::set<const SortedJson*>& open, const SortedJson& schema, const Document& document) : open_(open), schema_(schema) {
    if (open.size() > 400) fail(Code::unsupported, "{}: its references nest deeper than 400 levels", document.pointer(schema));
    if (!open.insert(&schema).second)
      fail(Code::invalid_argument, "{}: this schema refers to itself for the same value, so that its meaning has no end",
           document.pointer(schema));
  }
  ~Entered() { open_.erase(&schema_); }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  std::set<const SortedJson*>& open_;
  const SortedJson& schema_;
};

const SortedJson* find(const SortedJson& schema, const char* key) {
  const auto found = schema.find(key);
  return found == schema.end() ? nullptr : &*found;
}

}  // namespace

Type type_of(const SortedJson& value) {
  switch (value.type()) {
    case SortedJson::value_t::null:
      return null_type;
    case SortedJson::value_t::boolean:
      return boolean_type;
    case SortedJson::value_t::string:
      return string_type;
    case SortedJson::value_t::array:
      return array_type;
    case SortedJson::value_t::object:
      return object_type;
    default:
      return number_type;
  }
}

std::vector<Shape> Shapes::of(const Conjunction& schemas) const {
  std::vector<Shape> shapes(1);
  // Another value's schemas: what is open is so for values around it.
  const std::set<const SortedJson*> outer = std::exchange(open_, {});
  for (const SortedJson* schema : schemas) apply(*schema, shapes);
  open_ = outer;
  for (Shape& shape : shapes) {
    if (shape.lengths.is_empty()) shape.types &= ~static_cast<unsigned>(string_type);
    if (shape.items.is_empty()) shape.types &= ~static_cast<unsigned>(array_type);
    if (shape.members.is_empty() || shape.required.size() > shape.members.most) shape.types &= ~static_cast<unsigned>(object_type);
    if (shape.values) std::erase_if(*shape.values, [test = fitting(shape)](const SortedJson* value) { return !test(*value); });
  }
  std::erase_if(shapes, [](const Shape& shape) { return shape.types == 0 || (shape.values && shape.values->empty()); });
  return shapes;
}

void Shapes::apply(const SortedJson& schema, std::vector<Shape>& shapes) const {
  if (schema.is_boolean()) {
    if (!schema.get<bool>()) shapes.clear();
    return;
  }
  if (!schema.is_object())
    fail(Code::invalid_argument, "{}: a schema was expected, which is an object or a boolean", document_.pointer(schema));
  const Entered entered(open_, schema, document_);
  applied_ += shapes.size() + 1;
  if (applied_ > most_applied)
    fail(Code::unsupported, "{}: the schema's references and alternatives make too many combinations", document_.pointer(schema));
  if (shapes.empty()) {  // its keywords are checked all the same
    Shape unused;
    add_keywords(document_, schema, unused, form_);
  }
  for (Shape& shape : shapes) add_keywords(document_, schema, shape, form_);
  if (const SortedJson* reference = find(schema, "$ref")) {
    if (!reference->is_string()) fail(Code::invalid_argument, "{}: a string was expected", document_.pointer(*reference));
    apply(document_.resolve(schema, reference->get<std::string>()), shapes);
  }
  for (const char* const key : {"dependentRequired", "dependentSchemas"}) {
    const SortedJson* dependencies = find(schema, key);
    if (dependencies == nullptr) continue;
    const bool of_names = key == std::string_view("dependentRequired");
    for (const auto& [name, dependency] : dependencies->items()) {
      if (of_names && !dependency.is_array())
        fail(Code::invalid_argument, "{}: an array of names was expected", document_.pointer(dependency));
      if (!of_names && dependency.is_array()) fail(Code::invalid_argument, "{}: a schema was expected", document_.pointer(dependency));
      apply_dependency(name, dependency, shapes);
    }
  }
  for (const char* const key : {"allOf", "anyOf", "oneOf"}) {
    const SortedJson* list = find(schema, key);
    if (list == nullptr) continue;
    if (!list->is_array() || list->empty()) fail(Code::invalid_argument, "{}: an array of schemas was expected", document_.pointer(*list));
    if (key == std::string_view("allOf")) {
      for (const SortedJson& one : *list) apply(one, shapes);
    } else {
      apply_any(*list, shapes, key == std::string_view("oneOf"));
    }
  }
}

void Shapes::apply_any(const SortedJson& schemas, std::vector<Shape>& shapes, bool exclusive) const {
  std::vector<Shape> all;
  std::vector<std::vector<Shape>> alternatives;
  for (const SortedJson& one : schemas) {
    std::vector<Shape> alternative = shapes;
    apply(one, alternative);
    all.insert(all.end(), alternative.begin(), alternative.end());
    refuse_many(schemas, all);
    alternatives.push_back(std::move(alternative));
  }
  if (exclusive) require_disjoint(schemas, alternatives);
  shapes = std::move(all);
}

/// What holds where an object has the member `key`: `dependency` is a schema, or names that it must have then too. Either it does not have
/// the member, or both.
void Shapes::apply_dependency(const std::string& key, const SortedJson& dependency, std::vector<Shape>& shapes) const {
  std::vector<Shape> with = shapes;
  for (Shape& shape : shapes) shape.forbidden.insert(key);
  for (Shape& shape : with) {
    shape.types &= object_type;
    shape.require_member(key);
  }
  if (!dependency.is_array()) apply(dependency, with);
  for (std::size_t i = 0; dependency.is_array() && i < dependency.size(); ++i) {
    if (!dependency[i].is_string()) fail(Code::invalid_argument, "{}: a string was expected", document_.pointer(dependency[i]));
    for (Shape& shape : with) shape.require_member(dependency[i].get<std::string>());
  }
  shapes.insert(shapes.end(), with.begin(), with.end());
  refuse_many(dependency, shapes);
}

void Shapes::refuse_many(const SortedJson& schemas, const std::vector<Shape>& shapes) const {
  if (shapes.size() > most_shapes)
    fail(Code::unsupported, "{}: the alternatives make more than {} combinations", document_.pointer(schemas), most_shapes);
}

void Shapes::require_disjoint(const SortedJson& schemas, const std::vector<std::vector<Shape>>& alternatives) const {
  if (alternatives.size() > most_exclusive)
    fail(Code::unsupported, "{}: has more than {} alternatives", document_.pointer(schemas), most_exclusive);
  for (std::size_t i = 0; i < alternatives.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (are_disjoint(alternatives[j], alternatives[i], 0)) continue;
      const std::string place = document_.pointer(schemas);
      fail_about(
          place, Code::unsupported,
          "{}: a value may fit both of the alternatives {} and {}, and oneOf is enforced where they exclude each other (anyOf allows both)",
          place, j, i);
    }
  }
}

bool Shapes::are_disjoint(const std::vector<Shape>& a, const std::vector<Shape>& b, int depth) const {
  return std::ranges::all_of(
      a, [&](const Shape& left) { return std::ranges::all_of(b, [&](const Shape& right) { return is_disjoint(left, right, depth); }); });
}

bool Shapes::is_disjoint(const Shape& a, const Shape& b, int depth) const {
  count_work(1);
  const unsigned common = a.types & b.types;
  const auto both_have = [&](Type type) { return (common & type) != 0; };
  if (common == 0) return true;
  if (a.values || b.values) {
    const Shape& listed = a.values ? a : b;
    const Shape& other = a.values ? b : a;
    const Test fits_listed = fitting(listed), fits_other = fitting(other);
    const ValueSet others = other.values ? ValueSet(other.values->begin(), other.values->end()) : ValueSet();
    count_work(listed.values->size() + others.size());
    const bool known = std::ranges::all_of(*listed.values, [](const SortedJson* value) { return !value->is_structured(); });
    return known && std::ranges::none_of(*listed.values, [&](const SortedJson* value) {
             return (!other.values || others.contains(value)) && fits_listed(*value) && fits_other(*value);
           });
  }
  if (both_have(null_type) || both_have(boolean_type)) return false;
  if (both_have(number_type)) {
    NumberLimits limits = a.numbers;
    limits.integer = limits.integer || b.numbers.integer;
    limits.bounds.insert(limits.bounds.end(), b.numbers.bounds.begin(), b.numbers.bounds.end());
    limits.factors.insert(limits.factors.end(), b.numbers.factors.begin(), b.numbers.factors.end());
    if (limits.is_free() || !counted(numbers_within(limits)).is_empty()) return false;
  }
  const auto apart = [](const Counts& left, const Counts& right) { return left.most < right.least || right.most < left.least; };
  if (both_have(string_type) && !apart(a.lengths, b.lengths)) {
    const auto left = texts(a), right = texts(b);
    if (!left || !right || !counted(*left & *right).is_empty()) return false;
  }
  if (both_have(array_type) && !apart(a.items, b.items)) return false;
  return !both_have(object_type) || apart(a.members, b.members) || has_disjoint_member(a, b, depth);
}

bool Shapes::has_disjoint_member(const Shape& a, const Shape& b, int depth) const {
  if (depth >= deepest_comparison) return false;
  const auto excludes = [&](const Shape& wanting, const Shape& other) {
    return std::ranges::any_of(wanting.required, [&](const std::string& key) {
      count_work(1);
      const auto mine = member(wanting, key), theirs = member(other, key);
      if (!mine || !theirs) return true;
      const std::vector<Shape> left = of(*mine), right = of(*theirs);
      return right.empty() || (other.requires_member(key) && are_disjoint(left, right, depth + 1));
    });
  };
  return excludes(a, b) || excludes(b, a);
}

std::optional<Conjunction> Shapes::member(const Shape& shape, const std::string& key) const {
  if (shape.forbidden.contains(key)) return std::nullopt;
  if (const TextAutomaton* allowed = names(shape); allowed != nullptr && !allowed->contains(key)) return std::nullopt;
  Conjunction schemas;
  for (const SortedJson* object : shape.objects) {
    bool named = false;
    if (const SortedJson* properties = find(*object, "properties"); properties != nullptr && properties->contains(key)) {
      schemas.push_back(&properties->at(key));
      named = true;
    }
    if (const SortedJson* patterns = find(*object, "patternProperties")) {
      for (const auto& [pattern, schema] : patterns->items()) {
        if (!this->pattern(pattern).contains(key)) continue;
        schemas.push_back(&schema);
        named = true;
      }
    }
    if (const SortedJson* others = find(*object, "additionalProperties"); others != nullptr && !named) schemas.push_back(others);
  }
  return schemas;
}

Conjunction Shapes::item(const Shape& shape, std::size_t index) const {
  Conjunction schemas;
  for (const SortedJson* array : shape.arrays) {
    const SortedJson* first = find(*array, "prefixItems");
    const SortedJson* others = find(*array, "items");
    if (first != nullptr && index < first->size()) {
      schemas.push_back(&(*first)[index]);
    } else if (others != nullptr) {
      schemas.push_back(others);
    }
  }
  return schemas;
}

std::size_t Shapes::prefix(const Shape& shape) const {
  std::size_t longest = 0;
  for (const SortedJson* array : shape.arrays) {
    if (const SortedJson* first = find(*array, "prefixItems")) longest = std::max(longest, first->size());
  }
  return longest;
}

std::optional<TextAutomaton> Shapes::texts(const Shape& shape) const {
  std::optional<TextAutomaton> all;
  const auto add = [&](const TextAutomaton& more) { all = all ? counted(*all & more) : more; };
  for (const std::string& regex : shape.patterns) add(pattern(regex));
  for (const std::string& format : shape.formats) add(*find_format(format, form_));
  const bool limited = shape.lengths.least > 0 || shape.lengths.most != unbounded;
  if (all && limited) {
    const auto most = shape.lengths.most == unbounded ? std::nullopt : std::optional<std::uint64_t>(shape.lengths.most);
    add(TextAutomaton::of_length(shape.lengths.least, most));
  }
  return all;
}

const TextAutomaton& Shapes::pattern(const std::string& regex) const {
  const auto known = patterns_.find(regex);
  return known != patterns_.end() ? known->second : patterns_.emplace(regex, counted(TextAutomaton::of_pattern(regex))).first->second;
}

TextAutomaton Shapes::counted(TextAutomaton automaton) const {
  count_work(automaton.cost());
  return automaton;
}

void Shapes::count_work(std::size_t steps) const {
  work_ += steps;
  if (work_ > most_work)
    fail(Code::unsupported, "the schema's patterns, names, numbers and alternatives need more than {} states and comparisons together",
         most_work);
}

const TextAutomaton* Shapes::names(const Shape& shape) const {
  if (shape.names.empty()) return nullptr;
  if (const auto known = names_.find(shape.names); known != names_.end()) return &known->second;
  // What a name fits is the union of the alternatives, by De Morgan's law.
  TextAutomaton others;
  for (const Shape& alternative : of(shape.names)) {
    if ((alternative.types & string_type) == 0) continue;
    const Counts& lengths = alternative.lengths;
    TextAutomaton fitting =
        TextAutomaton::of_length(lengths.least, lengths.most == unbounded ? std::nullopt : std::optional<std::uint64_t>(lengths.most));
    if (const auto limited = texts(alternative)) fitting = *limited;
    if (alternative.values) {
      std::vector<std::string> listed;
      for (const SortedJson* value : *alternative.values) {
        if (value->is_string()) listed.push_back(value->get<std::string>());
      }
      fitting = TextAutomaton::of_texts(listed);
    }
    others = counted(others - fitting);
  }
  return &names_.emplace(shape.names, others.complement()).first->second;
}

Shapes::Test Shapes::fitting(const Shape& shape) const {
  const bool any_number = shape.numbers.is_free() || (shape.types & number_type) == 0;
  const auto numbers = any_number ? std::nullopt : std::optional(counted(numbers_within(shape.numbers)));
  const auto allowed = (shape.types & string_type) == 0 ? std::nullopt : texts(shape);
  return [this, &shape, numbers, allowed](const SortedJson& value) {
    if ((shape.types & type_of(value)) == 0) return false;
    if (value.is_number()) return !numbers || numbers->contains(Decimal::parse(value.dump()).text());
    if (value.is_string()) {
      const auto& text = value.get_ref<const std::string&>();
      const auto characters = static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return !text::continues_character(c); }));
      return characters >= shape.lengths.least && characters <= shape.lengths.most && (!allowed || allowed->contains(text));
    }
    if (is_limited(value, shape))
      fail(Code::unsupported, "{}: arrays and objects in enum and const are enforced where no other keyword limits them",
           document_.pointer(value));
    return true;
  };
}

bool Shapes::is_limited(const SortedJson& value, const Shape& shape) const {
  const auto counts = [](const Counts& limits) { return limits.least > 0 || limits.most != unbounded; };
  if (value.is_array()) return !shape.arrays.empty() || !shape.contained.empty() || counts(shape.items);
  return value.is_object() &&
         (!shape.objects.empty() || !shape.names.empty() || !shape.required.empty() || !shape.forbidden.empty() || counts(shape.members));
}

}  // namespace skipstone::grammar::schema
