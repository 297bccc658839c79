// skipstone grammar: what a schema becomes, which keywords are enforced, and whether a text fits.
#include "skipstone/grammar.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "commands.h"
#include "json/json.h"
#include "json/parse_json.h"
#include "prompts/prompts.h"
#include "terminal/output.h"

namespace cli {
namespace {

struct GrammarOptions {
  std::string schema, grammar, regex, text;
  bool json_object = false, keywords = false;
  CLI::Option *schema_option = nullptr, *grammar_option = nullptr, *regex_option = nullptr, *match_option = nullptr;
};

/// A schema itself, which begins with a brace or is a boolean; else the contents of the file of that name.
std::string schema_text(const std::string& given) {
  const std::size_t begin = given.find_first_not_of(" \t\r\n");
  const bool is_text = (begin != std::string::npos && given[begin] == '{') || given == "true" || given == "false";
  return is_text ? given : read_text(given, "the schema");
}

skipstone::Grammar make_grammar(const GrammarOptions& options, bool any_form) {
  try {
    if (*options.schema_option) return {SKIPSTONE_GRAMMAR_JSON_SCHEMA, schema_text(options.schema), any_form};
    if (*options.grammar_option) return {SKIPSTONE_GRAMMAR_GBNF, read_text(options.grammar, "the grammar")};
    if (*options.regex_option) return {SKIPSTONE_GRAMMAR_REGEX, options.regex};
    if (options.json_object) return {SKIPSTONE_GRAMMAR_JSON_OBJECT, "", any_form};
  } catch (const skipstone::error& error) {
    fail(ExitCode::usage, "{}", error.what());  // 1 is for texts that do not fit
  }
  fail(ExitCode::usage, "a grammar is missing: --json-schema FILE, --grammar FILE, --regex TEXT or --json-object; --keywords needs none");
}

bool is_json(const GrammarOptions& options) { return *options.schema_option || options.json_object; }

/// "byte 14, line 2, column 3", from 1; columns count characters.
std::string place_of(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const std::size_t line_begin = before.rfind('\n') + 1;  // 0 where there is none
  const auto characters =
      std::ranges::count_if(before.substr(line_begin), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
  return fmt::format("byte {}, line {}, column {}", offset + 1, std::ranges::count(before, '\n') + 1, characters + 1);
}

/// Why a text does not fit; "" where it does.
std::string mismatch(const skipstone::Grammar& grammar, std::string_view text) {
  skipstone::GrammarState state(grammar);
  const std::size_t fitting = state.advance(text);
  if (fitting < text.size()) return "the text stops fitting at " + place_of(text, fitting);
  return state.accepts() ? "" : "the text ends too early, at " + place_of(text, fitting);
}

/// A grammar does not know which other names an object had.
std::string repeated_name(std::string_view json) {
  try {
    skipstone::parse_json<skipstone::SortedJson>(json, "the text");
    return "";
  } catch (const skipstone::Error& error) {
    return error.what();
  }
}

ExitCode match(const GrammarOptions& options) {
  const skipstone::Grammar grammar = make_grammar(options, true);
  const std::string text = read_text(options.text, "the text");
  std::string reason = mismatch(grammar, text);
  // Editors and `echo` end a file with a line end.
  if (!reason.empty() && !is_json(options) && text.ends_with('\n') &&
      mismatch(grammar, std::string_view(text).substr(0, text.size() - 1)).empty())
    reason = "";
  if (reason.empty() && is_json(options)) reason = repeated_name(text);
  Output(false).write(reason.empty() ? "the text fits\n" : reason + "\n");
  return reason.empty() ? ExitCode::ok : ExitCode::failure;
}

void print_keywords() {
  std::string table;
  const auto all = skipstone::SortedJson::parse(skipstone::grammar_keywords());
  for (const auto& keyword : all) {
    const std::string line = fmt::format("{:<21} {:<10} {}", keyword["name"].get<std::string>(), keyword["treatment"].get<std::string>(),
                                         keyword["note"].get<std::string>());
    table += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  Output(false).write(table + "Every other keyword is refused.\n");
}

ExitCode run_grammar(const GrammarOptions& options) {
  if (options.keywords) {
    print_keywords();
    return ExitCode::ok;
  }
  if (*options.match_option) return match(options);
  Output(false).write(make_grammar(options, false).gbnf());
  return ExitCode::ok;
}

}  // namespace

void add_grammar(CLI::App& app, ExitCode& code) {
  CLI::App* command = app.add_subcommand("grammar", "Show what a JSON Schema becomes, and whether a text fits; needs no device");
  const auto options = std::make_shared<GrammarOptions>();
  options->schema_option =
      command
          ->add_option("--json-schema", options->schema, "A JSON Schema (draft 2020-12): a file, or the schema itself; -: standard input")
          ->type_name("FILE|TEXT");
  options->grammar_option =
      command->add_option("--grammar", options->grammar, "A grammar in GBNF, llama.cpp's notation")->type_name("FILE");
  options->regex_option = command->add_option("--regex", options->regex, "A regular expression, which the whole text has to fit");
  CLI::Option* const object = command->add_flag("--json-object", options->json_object, "Any JSON object");
  for (CLI::Option* const one : {options->schema_option, options->grammar_option, options->regex_option, object}) {
    for (CLI::Option* const other : {options->schema_option, options->grammar_option, options->regex_option, object}) {
      if (one != other) one->excludes(other);
    }
  }
  options->match_option =
      command
          ->add_option("--match", options->text,
                       "Say whether the text of a file fits: exit code 0, or 1 and where it stops fitting; -: standard input")
          ->type_name("FILE");
  command->add_flag("--keywords", options->keywords, "List what is done with each keyword of JSON Schema");
  command->footer(std::string("Examples:\n"
                              "  skipstone grammar --json-schema '{\"type\": \"integer\", \"minimum\": 1}'\n"
                              "  skipstone grammar --json-schema schema.json --match answer.json\n\n") +
                  exit_code_help);
  command->callback([options, &code] { code = run_grammar(*options); });
}

}  // namespace cli
