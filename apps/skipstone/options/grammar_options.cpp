#include "options/grammar_options.h"

#include "prompts/prompts.h"
#include "terminal/exit_code.h"

namespace cli {
namespace {

/// A schema itself, which begins with a brace or is a boolean; else the contents of the file of that name.
std::string schema_text(const std::string& given) {
  const std::size_t begin = given.find_first_not_of(" \t\r\n");
  const bool is_text = (begin != std::string::npos && given[begin] == '{') || given == "true" || given == "false";
  return is_text ? given : read_text(given, "the schema");
}

}  // namespace

std::optional<skipstone::Grammar> GrammarOptions::make(bool any_form) const {
  try {
    if (schema_option->count() > 0) return skipstone::Grammar(SKIPSTONE_GRAMMAR_JSON_SCHEMA, schema_text(schema), any_form);
    if (grammar_option->count() > 0) return skipstone::Grammar(SKIPSTONE_GRAMMAR_GBNF, read_text(grammar, "the grammar"));
    if (regex_option->count() > 0) return skipstone::Grammar(SKIPSTONE_GRAMMAR_REGEX, regex);
    if (json_object) return skipstone::Grammar(SKIPSTONE_GRAMMAR_JSON_OBJECT, "", any_form);
  } catch (const skipstone::error& error) {
    fail(ExitCode::usage, "{}", error.what());
  }
  return std::nullopt;
}

std::vector<CLI::Option*> add_grammar_options(CLI::App& command, GrammarOptions& options, const char* group) {
  options.schema_option =
      command.add_option("--json-schema", options.schema, "A JSON Schema (draft 2020-12): a file, or the schema itself; -: standard input")
          ->type_name("FILE|TEXT");
  options.grammar_option =
      command.add_option("--grammar", options.grammar, "A grammar in GBNF, llama.cpp's notation; -: standard input")->type_name("FILE");
  options.regex_option = command.add_option("--regex", options.regex, "A regular expression, which the whole text has to fit");
  CLI::Option* const object = command.add_flag("--json-object", options.json_object, "Any JSON object");
  std::vector<CLI::Option*> all = {options.schema_option, options.grammar_option, options.regex_option, object};
  for (CLI::Option* const one : all) {
    one->group(group);
    for (CLI::Option* const other : all) {
      if (one != other) one->excludes(other);
    }
  }
  return all;
}

}  // namespace cli
