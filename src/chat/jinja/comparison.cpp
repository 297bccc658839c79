// Truth, equality, order, membership.
#include <algorithm>
#include <cmath>

#include "base/status.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/unicode.h"

namespace skipstone::chat::jinja {

bool truth(const Value& value) {
  struct Truth {
    bool operator()(const Undefined&) const { return false; }
    bool operator()(const None&) const { return false; }
    bool operator()(bool boolean) const { return boolean; }
    bool operator()(std::int64_t number) const { return number != 0; }
    bool operator()(const BigInteger&) const { return true; }
    bool operator()(double number) const { return number != 0; }
    bool operator()(const StringRef& string) const { return !string->text.empty(); }
    bool operator()(const SequenceRef& sequence) const { return sequence->kind == Sequence::Kind::generator || !sequence->items.empty(); }
    bool operator()(const DictRef& dict) const { return !dict->items().empty(); }
    bool operator()(const NamespaceRef&) const { return true; }
    bool operator()(const CallableRef&) const { return true; }
    bool operator()(const LoopRef&) const { return true; }
  };
  return std::visit(Truth{}, value.data);
}

void require_hashable(const Value& key) {
  const Sequence* sequence = key.sequence();
  const bool list = sequence != nullptr && sequence->kind == Sequence::Kind::list;
  if (list || key.dict() != nullptr) fail(Code::invalid_argument, "unhashable type: '{}'", type_name(key));
  if (sequence != nullptr && sequence->kind == Sequence::Kind::tuple)
    std::for_each(sequence->items.begin(), sequence->items.end(), require_hashable);
}

namespace {

bool equal_sequences(const Sequence& a, const Sequence& b) {
  if (&a == &b) return true;
  const bool comparable = a.kind == Sequence::Kind::list || a.kind == Sequence::Kind::tuple || a.kind == Sequence::Kind::range;
  return comparable && a.kind == b.kind && std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(), equal);
}

bool equal_dicts(const Dict& a, const Dict& b) {
  if (a.items().size() != b.items().size()) return false;
  return std::all_of(a.items().begin(), a.items().end(), [&](const Dict::Item& entry) {
    const Value* other = b.find_equal(entry.first);
    return other != nullptr && equal(entry.second, *other);
  });
}

bool both_numbers(const Value& a, const Value& b) { return as_real(a).has_value() && as_real(b).has_value(); }

/// -1, 0, 1.
int order_of_numbers(const Value& a, const Value& b) {
  const auto left = as_integer(a);
  const auto right = as_integer(b);
  if (left && right) return *left < *right ? -1 : *left > *right ? 1 : 0;
  const double x = *as_real(a);
  const double y = *as_real(b);
  return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
}

bool is_number(const Value& value) { return value.is<BigInteger>() || as_real(value).has_value(); }

/// Compares numbers of which one is beyond 64 bits.
int order_of_large(const Value& a, const Value& b) {
  const auto sign = [](const Value& v) {
    if (const auto* big = v.get<BigInteger>()) return (*big->digits)[0] == '-' ? -1 : 1;
    return 0;
  };
  const auto* left = a.get<BigInteger>();
  const auto* right = b.get<BigInteger>();
  if (left == nullptr || right == nullptr || sign(a) != sign(b)) return sign(a) < sign(b) ? -1 : 1;
  const std::string& x = *left->digits;
  const std::string& y = *right->digits;
  const int order = x.size() != y.size() ? (x.size() < y.size() ? -1 : 1) : x.compare(y);
  return (order < 0 ? -1 : order > 0 ? 1 : 0) * sign(a);
}

}  // namespace

bool equal(const Value& a, const Value& b) {
  if (both_numbers(a, b)) return order_of_numbers(a, b) == 0;
  if (a.is<BigInteger>() && b.is<BigInteger>()) return *a.get<BigInteger>()->digits == *b.get<BigInteger>()->digits;
  if (a.data.index() != b.data.index()) return false;
  if (a.is<Undefined>() || a.is<None>()) return true;
  if (const String* left = a.string()) return left->bytes() == b.string()->bytes();
  if (const Sequence* left = a.sequence()) return equal_sequences(*left, *b.sequence());
  if (const Dict* left = a.dict()) return equal_dicts(*left, *b.dict());
  if (a.is<NamespaceRef>()) return std::get<NamespaceRef>(a.data) == std::get<NamespaceRef>(b.data);
  if (a.is<CallableRef>()) return std::get<CallableRef>(a.data) == std::get<CallableRef>(b.data);
  return a.is<LoopRef>() && std::get<LoopRef>(a.data) == std::get<LoopRef>(b.data);
}

bool less(Guard& guard, const Value& a, const Value& b) {
  guard.step();
  require_defined(a);
  require_defined(b);
  if (both_numbers(a, b)) return order_of_numbers(a, b) == -1;
  if (is_number(a) && is_number(b)) return order_of_large(a, b) == -1;
  if (a.string() != nullptr && b.string() != nullptr) {
    guard.step_over(std::min(a.string()->text.size(), b.string()->text.size()));
    return a.string()->bytes() < b.string()->bytes();  // UTF-8 has the order of code points
  }
  const Sequence* left = a.sequence();
  const Sequence* right = b.sequence();
  if (left != nullptr && right != nullptr && left->kind == right->kind &&
      (left->kind == Sequence::Kind::list || left->kind == Sequence::Kind::tuple)) {
    const std::size_t both = std::min(left->items.size(), right->items.size());
    for (std::size_t i = 0; i < both; ++i) {
      guard.step();
      if (!equal(left->items[i], right->items[i])) return less(guard, left->items[i], right->items[i]);
    }
    return left->items.size() < right->items.size();
  }
  fail(Code::invalid_argument, "'<' not supported between instances of '{}' and '{}'", type_name(a), type_name(b));
}

namespace {

/// Steps that comparing a value may take.
std::size_t weight(const Value& value) {
  if (const String* string = value.string()) return string->text.size() / 256;
  if (const Sequence* sequence = value.sequence()) {
    std::size_t sum = sequence->items.size();
    for (const Value& item : sequence->items) sum += weight(item);
    return sum;
  }
  if (const Dict* dict = value.dict()) {
    std::size_t sum = dict->items().size();
    for (const Dict::Item& entry : dict->items()) sum += weight(entry.second);
    return sum;
  }
  return 0;
}

/// Steps that comparing two values for equality may take.
std::size_t weight_of_both(const Value& a, const Value& b) {
  if (a.string() != nullptr && b.string() != nullptr) return std::min(a.string()->text.size(), b.string()->text.size()) / 256;
  const bool containers = (a.sequence() != nullptr && b.sequence() != nullptr) || (a.dict() != nullptr && b.dict() != nullptr);
  return containers ? weight(a) + weight(b) : 0;
}

bool contains(Guard& guard, const Value& container, const Value& what) {
  if (const String* string = container.string()) {
    const String* part = what.string();
    if (part == nullptr) fail(Code::invalid_argument, "'in <string>' requires string as left operand, not {}", type_name(what));
    guard.step(string->text.size() / 64);
    return find_text(string->bytes(), part->bytes(), 0) != std::string_view::npos;
  }
  if (const Dict* dict = container.dict()) return dict->find_key(guard, what) != nullptr;
  if (container.is<Undefined>()) return false;
  if (const Sequence* sequence = container.sequence()) {
    guard.step(sequence->items.size() + weight(container));
    const SequenceRef items = items_of(guard, container);
    return std::any_of(items->items.begin(), items->items.end(), [&](const Value& item) { return equal(item, what); });
  }
  fail(Code::invalid_argument, "argument of type '{}' is not iterable", type_name(container));
}

}  // namespace

bool compare(Guard& guard, Operator op, const Value& a, const Value& b) {
  switch (op) {
    case Operator::equal:
    case Operator::not_equal:
      guard.step(weight_of_both(a, b));
      return equal(a, b) == (op == Operator::equal);
    case Operator::less:
      return less(guard, a, b);
    case Operator::greater:
      return less(guard, b, a);
    case Operator::less_equal:
      return less(guard, a, b) || equal(a, b);
    case Operator::greater_equal:
      return less(guard, b, a) || equal(a, b);
    case Operator::in:
      return contains(guard, b, a);
    default:
      return !contains(guard, b, a);
  }
}

}  // namespace skipstone::chat::jinja
