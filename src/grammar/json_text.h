// JSON as a grammar: values, strings, what separates them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/numbers.h"
#include "grammar/text_automaton.h"
#include "json/json_fwd.h"

namespace skipstone::grammar {

/// Which texts of a value are meant.
enum class Form {
  writing,  ///< what a model writes: one way for each value, so that what is certain is forced (docs/grammar.md)
  any,      ///< all of JSON's ways: white space, escapes, members in any order
};

/// Adds parts of JSON to a grammar, each rule once.
class JsonText {
 public:
  JsonText(Syntax& syntax, Form form) : syntax_(syntax), form_(form) {}

  ExprId blanks();
  ExprId comma();
  ExprId colon();

  /// A character of a set inside a string. Of what a schema prescribes, a model writes each character in one way.
  ExprId character(const CodePoints& set);
  /// A string with any content of `least` to `most` characters, which may be written with all of JSON's escapes.
  ExprId string(std::uint32_t least = 0, std::uint32_t most = unbounded);
  ExprId string(const TextAutomaton& content);
  ExprId string(std::string_view content);
  ExprId number(const NumberLimits& limits);

  ExprId any_value();
  ExprId any_object();
  ExprId any_array();
  /// The value itself: its numbers in all the digits that mean the same, its members in any order where the form has that.
  ExprId constant(const SortedJson& value);

  /// "{" and "}" around members; in the form `any` they come in any order, each once, as `limits` has it.
  ExprId object_in_any_order(const std::string& name, const std::vector<ExprId>& members, const Members& limits);
  ExprId brackets(const char* open, ExprId inner, const char* close);

 private:
  ExprId make_character(const CodePoints& set);
  ExprId escape(const CodePoints& set);
  ExprId unit(const CodePoints& set);
  ExprId free_character();
  ExprId equal_number(const Decimal& value);
  RuleId named(std::optional<RuleId>& rule, const char* name);

  Syntax& syntax_;
  Form form_;
  std::optional<RuleId> blanks_, value_, object_, array_, string_, integer_, number_;
  std::map<CodePoints, RuleId> escapes_;
  std::map<CodePoints, ExprId> characters_;  ///< of character()
};

}  // namespace skipstone::grammar
