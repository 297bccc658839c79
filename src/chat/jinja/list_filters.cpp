// Filters that split or make lists.
#include <algorithm>
#include <functional>

#include "base/status.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/operators.h"

namespace skipstone::chat::jinja {
namespace {

Value length_filter(const FilterCall& call) {
  if (call.input.string() != nullptr) call.guard.step(call.input.string()->text.size() / 64);
  return static_cast<std::int64_t>(length(call.input));
}

Value list(const FilterCall& call) { return make_sequence(&call.guard, Sequence::Kind::list, items_of(call.guard, call.input)->items); }

Value first(const FilterCall& call) {
  const SequenceRef items = items_of(call.guard, call.input);
  return items->items.empty() ? make_undefined("No first item, sequence was empty.") : items->items.front();
}

Value last(const FilterCall& call) {
  const Sequence* sequence = call.input.sequence();
  if (sequence != nullptr && sequence->kind == Sequence::Kind::generator)
    fail(Code::invalid_argument, "'generator' object is not reversible");
  const SequenceRef items = items_of(call.guard, call.input);
  return items->items.empty() ? make_undefined("No last item, sequence was empty.") : items->items.back();
}

Value default_value(const FilterCall& call) {
  const auto bound = call.arguments.bind(call.name, {"default_value", "boolean"});
  const bool take = call.input.is<Undefined>() || (true_or(bound[1], false) && !truth(call.input));
  if (!take) return call.input;
  return bound[0] != nullptr ? *bound[0] : call.text(Text());
}

Value items(const FilterCall& call) {
  if (call.input.is<Undefined>()) return make_sequence(&call.guard, Sequence::Kind::generator, {});
  if (call.input.dict() == nullptr) fail(Code::invalid_argument, "Can only get item pairs from a mapping.");
  return make_sequence(&call.guard, Sequence::Kind::generator,
                       items_of(call.guard, call_method(call.guard, call.input, "items", {}))->items);
}

/// "a.b.0" of an item.
class Path {
 public:
  Path(Guard& guard, const Value* attribute) : guard_(guard) {
    if (attribute == nullptr || attribute->is<None>()) return;
    const String* name = attribute->string();
    if (name == nullptr) {
      parts_.push_back(*attribute);
      return;
    }
    std::size_t begin = 0;
    for (bool more = true; more;) {
      const std::size_t end = name->bytes().find('.', begin);
      more = end != std::string_view::npos;
      add(name->text.part(begin, more ? end : name->text.size()));
      begin = end + 1;
    }
  }

  Value of(const Value& value, const Value* otherwise = nullptr) const {
    Value found = value;
    for (const Value& part : parts_) {
      found = item(guard_, found, part);
      if (otherwise != nullptr && !otherwise->is<None>() && found.is<Undefined>()) found = *otherwise;
    }
    return found;
  }

 private:
  void add(Text part) {
    const std::string_view bytes = part.bytes();
    const bool digits = !bytes.empty() && bytes.size() < 10 && bytes.find_first_not_of("0123456789") == std::string_view::npos;
    parts_.push_back(digits ? Value(static_cast<std::int64_t>(std::stoll(std::string(bytes)))) : make_string(&guard_, std::move(part)));
  }

  Guard& guard_;
  std::vector<Value> parts_;
};

Value map(const FilterCall& call) {
  if (!truth(call.input)) return make_sequence(&call.guard, Sequence::Kind::generator, {});
  const SequenceRef input = items_of(call.guard, call.input);
  std::vector<Value> out;
  out.reserve(input->items.size());
  const auto& named = call.arguments.named;
  const bool by_attribute = std::any_of(named.begin(), named.end(), [](const auto& argument) { return argument.first == "attribute"; });
  if (call.arguments.positional.empty() && by_attribute) {
    const auto bound = call.arguments.bind(call.name, {"attribute", "default"});
    const Path path(call.guard, bound[0]);
    for (const Value& one : input->items) {
      call.guard.step();
      out.push_back(path.of(one, bound[1]));
    }
  } else {
    if (call.arguments.positional.empty()) fail(Code::invalid_argument, "map requires a filter argument");
    const std::string filter(string_argument(call.arguments.positional[0], "the filter's name").bytes());
    Arguments rest = call.arguments;
    rest.positional.erase(rest.positional.begin());
    for (const Value& one : input->items) {
      const Guard::Level level(call.guard);
      out.push_back(apply_filter(call.guard, filter, one, rest));
    }
  }
  return make_sequence(&call.guard, Sequence::Kind::generator, std::move(out));
}

/// select, reject, selectattr, rejectattr.
Value choose(const FilterCall& call) {
  if (!truth(call.input)) return make_sequence(&call.guard, Sequence::Kind::generator, {});
  const bool by_attribute = call.name == "selectattr" || call.name == "rejectattr";
  const bool wanted = call.name[0] == 's';
  std::vector<Value> given = call.arguments.positional;
  if (by_attribute && given.empty()) fail(Code::invalid_argument, "Missing parameter for attribute name");
  const Value attribute_name = by_attribute ? given.front() : Value();
  if (by_attribute) given.erase(given.begin());
  const Path path(call.guard, by_attribute ? &attribute_name : nullptr);
  std::string test;
  if (!given.empty()) {
    test = string_argument(given.front(), "the test's name").bytes();
    given.erase(given.begin());
  }
  const Arguments rest{std::move(given), call.arguments.named};
  std::vector<Value> out;
  const SequenceRef input = items_of(call.guard, call.input);
  for (const Value& one : input->items) {
    call.guard.step();
    const Value looked_at = path.of(one);
    if ((test.empty() ? truth(looked_at) : passes(call.guard, test, looked_at, rest)) == wanted) out.push_back(one);
  }
  return make_sequence(&call.guard, Sequence::Kind::generator, std::move(out));
}

Value without_case(Guard& guard, const Value& value) {
  if (value.string() != nullptr) guard.step(value.string()->text.size() / 4);
  return value.string() == nullptr ? value : make_string(&guard, recased(value.string()->text, Casing::lower));
}

struct Keyed {
  Value key, value;
};

/// Sorts by Python's order, stable also when reversed.
std::vector<Value> sorted(Guard& guard, std::vector<Keyed> all, bool reverse) {
  std::size_t ladder = 1;
  while ((std::size_t{1} << ladder) < all.size()) ++ladder;
  guard.step(all.size() * ladder);
  std::stable_sort(all.begin(), all.end(),
                   [&](const Keyed& a, const Keyed& b) { return reverse ? less(guard, b.key, a.key) : less(guard, a.key, b.key); });
  std::vector<Value> out;
  out.reserve(all.size());
  for (Keyed& one : all) out.push_back(std::move(one.value));
  return out;
}

/// Charges the memory of keyed()'s results before it makes them.
Charge room_for(Guard& guard, const std::vector<Value>& items) { return Charge(&guard, items.size() * (sizeof(Keyed) + sizeof(Value))); }

std::vector<Keyed> keyed(Guard& guard, const std::vector<Value>& items, const Value* attribute, bool case_sensitive) {
  std::vector<Path> paths;
  const String* names = attribute != nullptr ? attribute->string() : nullptr;
  if (names != nullptr && names->bytes().find(',') != std::string_view::npos) {
    Arguments comma;
    comma.positional.push_back(make_string(&guard, ",", Origin::template_text));
    const Value several = call_string_method(guard, *attribute, "split", comma);
    for (const Value& name : several.sequence()->items) paths.emplace_back(guard, &name);
  } else {
    paths.emplace_back(guard, attribute);
  }
  std::vector<Keyed> all;
  for (const Value& one : items) {
    guard.step();
    std::vector<Value> keys;
    keys.reserve(paths.size());
    for (const Path& path : paths) keys.push_back(case_sensitive ? path.of(one) : without_case(guard, path.of(one)));
    all.push_back({keys.size() == 1 ? keys[0] : make_sequence(&guard, Sequence::Kind::list, std::move(keys)), one});
  }
  return all;
}

Value sort(const FilterCall& call) {
  const auto bound = call.arguments.bind(call.name, {"reverse", "case_sensitive", "attribute"});
  const SequenceRef input = items_of(call.guard, call.input);
  const Charge room = room_for(call.guard, input->items);
  return make_sequence(&call.guard, Sequence::Kind::list,
                       sorted(call.guard, keyed(call.guard, input->items, bound[2], true_or(bound[1], false)), true_or(bound[0], false)));
}

Value dictsort(const FilterCall& call) {
  const auto bound = call.arguments.bind(call.name, {"case_sensitive", "by", "reverse"});
  require_defined(call.input);
  if (call.input.dict() == nullptr) fail(Code::invalid_argument, "'{}' has no attribute 'items'", object_name(call.input));
  const std::string_view by = bound[1] != nullptr ? string_argument(*bound[1], "by").bytes() : "key";
  if (by != "key" && by != "value") fail(Code::invalid_argument, "You can only sort by either \"key\" or \"value\"");
  const Value place(std::int64_t{by == "key" ? 0 : 1});
  const Value pairs = call_method(call.guard, call.input, "items", {});
  const Charge room = room_for(call.guard, pairs.sequence()->items);
  return make_sequence(
      &call.guard, Sequence::Kind::list,
      sorted(call.guard, keyed(call.guard, pairs.sequence()->items, &place, true_or(bound[0], false)), true_or(bound[2], false)));
}

Value unique(const FilterCall& call) {
  const auto bound = call.arguments.bind(call.name, {"case_sensitive", "attribute"});
  const SequenceRef input = items_of(call.guard, call.input);
  const Charge room = room_for(call.guard, input->items);
  std::vector<Value> out;
  std::vector<Value> seen;
  for (Keyed& one : keyed(call.guard, input->items, bound[1], true_or(bound[0], false))) {
    call.guard.step(seen.size());
    require_hashable(one.key);
    if (std::any_of(seen.begin(), seen.end(), [&](const Value& other) { return equal(other, one.key); })) continue;
    seen.push_back(std::move(one.key));
    out.push_back(std::move(one.value));
  }
  return make_sequence(&call.guard, Sequence::Kind::generator, std::move(out));
}

Value reverse(const FilterCall& call) {
  if (call.input.string() != nullptr) return slice(call.guard, call.input, None{}, None{}, std::int64_t{-1});
  std::vector<Value> out = items_of(call.guard, call.input)->items;
  std::reverse(out.begin(), out.end());
  return make_sequence(&call.guard, Sequence::Kind::generator, std::move(out));
}

Value sum(const FilterCall& call) {
  const auto bound = call.arguments.bind(call.name, {"attribute", "start"});
  const Path path(call.guard, bound[0]);
  Value total = bound[1] != nullptr ? *bound[1] : Value(std::int64_t{0});
  if (total.string() != nullptr) fail(Code::invalid_argument, "sum() can't sum strings");
  const SequenceRef input = items_of(call.guard, call.input);
  for (const Value& one : input->items) total = compute(call.guard, Operator::add, total, path.of(one));
  return total;
}

/// min, max.
Value extreme(const FilterCall& call) {
  const auto bound = call.arguments.bind(call.name, {"case_sensitive", "attribute"});
  const SequenceRef input = items_of(call.guard, call.input);
  const Charge room = room_for(call.guard, input->items);
  std::vector<Keyed> all = keyed(call.guard, input->items, bound[1], true_or(bound[0], false));
  if (all.empty()) return make_undefined("No aggregated item, sequence was empty.");
  std::size_t best = 0;
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (call.name == "min" ? less(call.guard, all[i].key, all[best].key) : less(call.guard, all[best].key, all[i].key)) best = i;
  }
  return all[best].value;
}

Value batch(const FilterCall& call) {
  const auto bound = call.arguments.bind(call.name, {"linecount", "fill_with"});
  const std::int64_t size = bound[0] == nullptr ? 0 : integer(*bound[0], "linecount");
  if (size < 1 || size > 100'000) fail(Code::invalid_argument, "linecount must be from 1 to 100000");
  const SequenceRef input = items_of(call.guard, call.input);
  std::vector<Value> out;
  std::vector<Value> line;
  const auto flush = [&] { out.push_back(make_sequence(&call.guard, Sequence::Kind::list, std::exchange(line, {}))); };
  for (const Value& one : input->items) {
    call.guard.step();
    if (static_cast<std::int64_t>(line.size()) == size) flush();
    line.push_back(one);
  }
  if (!line.empty()) {
    if (bound[1] != nullptr && !bound[1]->is<None>()) line.resize(static_cast<std::size_t>(size), *bound[1]);
    flush();
  }
  return make_sequence(&call.guard, Sequence::Kind::generator, std::move(out));
}

/// The filter "slice": splits into the given number of lists.
Value cut(const FilterCall& call) {
  const auto bound = call.arguments.bind(call.name, {"slices", "fill_with"});
  const std::int64_t count = bound[0] == nullptr ? 0 : integer(*bound[0], "slices");
  if (count < 1 || count > 100'000) fail(Code::invalid_argument, "slices must be from 1 to 100000");
  const SequenceRef input = items_of(call.guard, call.input);
  const auto slices = static_cast<std::size_t>(count);
  call.guard.step(slices + input->items.size());
  std::vector<Value> out;
  auto next = input->items.begin();
  for (std::size_t i = 0; i < slices; ++i) {
    const bool extra = i < input->items.size() % slices;
    const auto size = static_cast<std::ptrdiff_t>(input->items.size() / slices + (extra ? 1 : 0));
    std::vector<Value> one(next, next + size);
    next += size;
    if (!extra && bound[1] != nullptr && !bound[1]->is<None>()) one.push_back(*bound[1]);
    out.push_back(make_sequence(&call.guard, Sequence::Kind::list, std::move(one)));
  }
  return make_sequence(&call.guard, Sequence::Kind::generator, std::move(out));
}

Value groupby(const FilterCall& call) {
  const auto bound = call.arguments.bind(call.name, {"attribute", "default", "case_sensitive"});
  if (bound[0] == nullptr) fail(Code::invalid_argument, "groupby needs the name of an attribute");
  const bool sensitive = true_or(bound[2], false);
  const Path path(call.guard, bound[0]);
  const SequenceRef input = items_of(call.guard, call.input);
  const Charge room = room_for(call.guard, input->items);
  std::vector<Keyed> all;
  for (const Value& one : input->items) {
    const Value key = path.of(one, bound[1]);
    all.push_back({sensitive ? key : without_case(call.guard, key), one});
  }
  std::vector<Value> out;
  std::vector<Value> group;
  Value group_key;
  const auto flush = [&] {
    if (group.empty()) return;
    const Value name = path.of(group.front(), bound[1]);
    out.push_back(make_sequence(&call.guard, Sequence::Kind::tuple,
                                {name, make_sequence(&call.guard, Sequence::Kind::list, std::exchange(group, {}))}));
  };
  for (const Value& one : sorted(call.guard, std::move(all), false)) {
    const Value found = path.of(one, bound[1]);
    const Value key = sensitive ? found : without_case(call.guard, found);
    if (!group.empty() && !equal(key, group_key)) flush();
    group_key = key;
    group.push_back(one);
  }
  flush();
  return make_sequence(&call.guard, Sequence::Kind::list, std::move(out));
}

Value attr(const FilterCall& call) {
  const auto bound = call.arguments.bind(call.name, {"name"});
  if (bound[0] == nullptr) fail(Code::invalid_argument, "attr needs the name of an attribute");
  const std::string_view name = string_argument(*bound[0], "the attribute's name").bytes();
  // Reads attributes alone, not the items of a dict.
  if (call.input.dict() != nullptr && method_of(call.input, name) == Method::none)
    return make_undefined("'dict object' has no such attribute");
  return attribute(call.guard, call.input, name);
}

constexpr NamedFilter table[] = {
    {"length", length_filter},  {"count", length_filter}, {"list", list},         {"first", first}, {"last", last},
    {"default", default_value}, {"d", default_value},     {"items", items},       {"map", map},     {"select", choose},
    {"reject", choose},         {"selectattr", choose},   {"rejectattr", choose}, {"sort", sort},   {"dictsort", dictsort},
    {"unique", unique},         {"reverse", reverse},     {"sum", sum},           {"min", extreme}, {"max", extreme},
    {"batch", batch},           {"slice", cut},           {"groupby", groupby},   {"attr", attr}};

}  // namespace

std::pair<const NamedFilter*, std::size_t> list_filters() { return {table, std::size(table)}; }

}  // namespace skipstone::chat::jinja
