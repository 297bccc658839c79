// The options that say which texts fit: a JSON Schema, a grammar, a regular expression, or any JSON object.
#pragma once

#include <CLI/App.hpp>
#include <optional>
#include <string>
#include <vector>

#include "skipstone/grammar.hpp"

namespace cli {

struct GrammarOptions {
  std::string schema, grammar, regex;
  bool json_object = false;
  CLI::Option *schema_option = nullptr, *grammar_option = nullptr, *regex_option = nullptr;

  /// Nothing where none was given. `any_form`: of JSON, as skipstone_grammar_params has it. Throws Failure (usage) for what is no grammar.
  std::optional<skipstone::Grammar> make(bool any_form) const;
  bool is_json() const { return schema_option->count() > 0 || json_object; }
};

/// The group of these options in commands that generate.
inline constexpr const char* text_grammar_group = "What the text fits";

/// Adds --json-schema, --grammar, --regex and --json-object, and returns them. At most one of them is given.
std::vector<CLI::Option*> add_grammar_options(CLI::App& command, GrammarOptions& options, const char* group = "Options");

}  // namespace cli
