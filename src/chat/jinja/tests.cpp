#include <map>
#include <string_view>

#include "base/escape.h"
#include "base/status.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/unicode.h"

namespace skipstone::chat::jinja {
namespace {

/// Tests that depend on the value alone.
using Simple = bool (*)(Guard&, const Value&);

bool has_case(Guard& guard, const Value& value, const char* wanted, const char* other) {
  const Text text = printed(guard, value);
  guard.step(text.size());
  bool any = false;
  for (std::size_t at = 0; at < text.size(); at += character_size(text.bytes(), at)) {
    const std::string_view character = text.bytes().substr(at, character_size(text.bytes(), at));
    if (has_property(character, other)) return false;
    any = any || has_property(character, wanted);
  }
  return any;
}

bool is_number(Guard&, const Value& v) { return as_real(v).has_value() || v.is<BigInteger>(); }

std::int64_t whole(const Value& value) { return integer(value, "what is tested"); }

const std::map<std::string_view, Simple>& simple_tests() {
  static const std::map<std::string_view, Simple> table = {
      {"defined", [](Guard&, const Value& v) { return !v.is<Undefined>(); }},
      {"undefined", [](Guard&, const Value& v) { return v.is<Undefined>(); }},
      {"none", [](Guard&, const Value& v) { return v.is<None>(); }},
      {"boolean", [](Guard&, const Value& v) { return v.is<bool>(); }},
      {"true", [](Guard&, const Value& v) { return v.is<bool>() && truth(v); }},
      {"false", [](Guard&, const Value& v) { return v.is<bool>() && !truth(v); }},
      {"string", [](Guard&, const Value& v) { return v.string() != nullptr; }},
      {"mapping", [](Guard&, const Value& v) { return v.dict() != nullptr; }},
      {"iterable", [](Guard&, const Value& v) { return is_iterable(v); }},
      {"sequence",
       [](Guard&, const Value& v) {
         const Sequence* s = v.sequence();
         if (s != nullptr) return s->kind == Sequence::Kind::list || s->kind == Sequence::Kind::tuple || s->kind == Sequence::Kind::range;
         return v.is<Undefined>() || v.string() != nullptr || v.dict() != nullptr;
       }},
      {"number", is_number},
      {"integer", [](Guard&, const Value& v) { return v.is<std::int64_t>() || v.is<BigInteger>(); }},
      {"float", [](Guard&, const Value& v) { return v.is<double>(); }},
      {"callable", [](Guard&, const Value& v) { return v.is<CallableRef>() || v.is<Undefined>() || v.is<LoopRef>(); }},
      {"escaped", [](Guard&, const Value& v) { return v.string() != nullptr && v.string()->markup; }},
      {"odd", [](Guard&, const Value& v) { return whole(v) % 2 != 0; }},
      {"even", [](Guard&, const Value& v) { return whole(v) % 2 == 0; }},
      {"upper", [](Guard& g, const Value& v) { return has_case(g, v, "Lu", "Ll"); }},
      {"lower", [](Guard& g, const Value& v) { return has_case(g, v, "Ll", "Lu"); }},
  };
  return table;
}

const std::map<std::string_view, Operator>& comparing_tests() {
  static const std::map<std::string_view, Operator> table = {{"eq", Operator::equal},
                                                             {"==", Operator::equal},
                                                             {"equalto", Operator::equal},
                                                             {"ne", Operator::not_equal},
                                                             {"!=", Operator::not_equal},
                                                             {"lt", Operator::less},
                                                             {"<", Operator::less},
                                                             {"lessthan", Operator::less},
                                                             {"le", Operator::less_equal},
                                                             {"<=", Operator::less_equal},
                                                             {"gt", Operator::greater},
                                                             {">", Operator::greater},
                                                             {"greaterthan", Operator::greater},
                                                             {"ge", Operator::greater_equal},
                                                             {">=", Operator::greater_equal},
                                                             {"in", Operator::in}};
  return table;
}

const Value& only(const Arguments& arguments, const std::string& name) {
  const auto bound = arguments.bind(name, {"other"});
  if (bound[0] == nullptr) fail(Code::invalid_argument, "the test '{}' needs an argument", shortened(name, 40));
  return *bound[0];
}

bool is_same(const Value& a, const Value& b) {
  if (a.string() != nullptr && b.string() != nullptr) return a.string() == b.string();
  if (a.sequence() != nullptr || a.dict() != nullptr) return a.sequence() == b.sequence() && a.dict() == b.dict();
  return a.data.index() == b.data.index() && equal(a, b);
}

}  // namespace

bool passes(Guard& guard, const std::string& name, const Value& value, const Arguments& arguments) {
  guard.step();
  if (const auto simple = simple_tests().find(name); simple != simple_tests().end()) {
    arguments.bind(name, {});
    return simple->second(guard, value);
  }
  if (const auto comparing = comparing_tests().find(name); comparing != comparing_tests().end()) {
    return compare(guard, comparing->second, value, only(arguments, name));
  }
  if (name == "divisibleby") return truth(compute(guard, Operator::modulo, value, only(arguments, name))) == false;
  if (name == "sameas") return is_same(value, only(arguments, name));
  fail(Code::invalid_argument, "there is no test '{}'", shortened(name, 40));
}

}  // namespace skipstone::chat::jinja
