// skipstone grammar: what a schema becomes, which keywords are enforced, and whether a text fits.
#include "skipstone/grammar.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "base/escape.h"
#include "base/status.h"
#include "commands.h"
#include "json/json.h"
#include "json/parse_json.h"
#include "options/grammar_options.h"
#include "prompts/prompts.h"
#include "terminal/output.h"

namespace cli {
namespace {

struct GrammarCommand {
  GrammarOptions grammar;
  std::string text;
  bool keywords = false;
  CLI::Option* match_option = nullptr;
};

/// Exit code 1 is for texts that do not fit.
skipstone::Grammar make_grammar(const GrammarCommand& options, bool any_form) {
  if (auto grammar = options.grammar.make(any_form)) return *grammar;
  fail(ExitCode::usage, "a grammar is missing: --json-schema FILE, --grammar FILE, --regex TEXT or --json-object; --keywords needs none");
}

/// "byte 14, line 2, column 3", from 1; columns count characters.
std::string place_of(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const std::size_t line_begin = before.rfind('\n') + 1;  // 0 where there is none
  return fmt::format("byte {}, line {}, column {}", offset + 1, std::ranges::count(before, '\n') + 1,
                     skipstone::characters(before.substr(line_begin)) + 1);
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

ExitCode match(const GrammarCommand& options) {
  const skipstone::Grammar grammar = make_grammar(options, true);
  const std::string text = read_text(options.text, "the text");
  std::string reason = mismatch(grammar, text);
  // Editors and `echo` end a file with a line end.
  if (!reason.empty() && !options.grammar.is_json() && text.ends_with('\n') &&
      mismatch(grammar, std::string_view(text).substr(0, text.size() - 1)).empty())
    reason = "";
  if (reason.empty() && options.grammar.is_json()) reason = repeated_name(text);
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

ExitCode run_grammar(const GrammarCommand& options) {
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
  const auto options = std::make_shared<GrammarCommand>();
  add_grammar_options(*command, options->grammar);
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
