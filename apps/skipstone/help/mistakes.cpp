#include "help/mistakes.h"

#include <fmt/format.h>

#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "base/escape.h"
#include "terminal/nearest_name.h"

namespace cli {
namespace {

/// The option that an argument such as --ctx=5 or -n5 names, or null.
const CLI::Option* option_of(const CLI::App& command, std::string_view name) {
  const bool is_long = name.starts_with("--");
  const std::string wanted(is_long ? name.substr(2) : name.substr(1, 1));
  const auto fits = [&](const CLI::Option* option) { return is_long ? option->check_lname(wanted) : option->check_sname(wanted); };
  const auto found = command.get_options(fits);
  return found.empty() ? nullptr : found.front();
}

bool looks_like_option(std::string_view word) {
  return word.size() > 1 && word.front() == '-' && std::isdigit(static_cast<unsigned char>(word[1])) == 0 && word[1] != '.';
}

struct Words {
  std::optional<std::string> unknown;    ///< the first that looks like an option and is none
  std::vector<std::string> positionals;  ///< neither options nor their values
};

/// `first`: of `arguments`, the first after the command's name.
Words words_of(const CLI::App& command, const std::vector<std::string>& arguments, std::size_t first) {
  Words words;
  bool options_end = false;
  for (std::size_t i = first; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (!options_end && word == "--") {
      options_end = true;
    } else if (options_end || !looks_like_option(word)) {
      words.positionals.push_back(word);
    } else {
      const bool is_long = word.starts_with("--");
      const std::string name = word.substr(0, is_long ? word.find('=') : std::string::npos);
      const CLI::Option* const option = option_of(command, name);
      if (option == nullptr) {
        if (!words.unknown) words.unknown = name;
        continue;
      }
      const bool has_value = is_long ? name.size() < word.size() : name.size() > 2;
      if (option->get_items_expected_min() > 0 && !has_value) ++i;  // the next argument is its value, whatever it looks like
    }
  }
  return words;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// The sentence for a command line with more than one prompt: a model in its place, as other commands take it, or words without quotes.
std::string several_prompts(const std::vector<std::string>& words) {
  const auto model = std::ranges::find_if(words, [](const std::string& word) { return word.ends_with(".gguf"); });
  if (model == words.end()) return "there is more than one prompt; put the words of one into quotes";
  const std::string name = skipstone::shortened(*model);
  return fmt::format("there is more than one prompt, of which {} is a model file; run it with -m {}", name, name);
}

std::string suggestion(const std::string& word, const std::vector<std::string>& names) {
  const std::string near = nearest_name(word, names);
  return near.empty() ? "" : fmt::format("; the nearest is {}", near);
}

/// "skipstone run", or the program's name alone.
std::string name_of(const CLI::App& command, const CLI::App& app) {
  return &command == &app ? app.get_name() : app.get_name() + " " + command.get_name();
}

std::string usage_of(const CLI::App& command, const CLI::App& app) {
  std::string usage = CLI::Formatter().make_usage(&command, name_of(command, app));
  while (usage.ends_with('\n')) usage.pop_back();
  return fmt::format("{}; '{} --help' lists {}.", usage, name_of(command, app), &command == &app ? "the commands" : "the options");
}

}  // namespace

Mistake explain_mistake(const CLI::App& app, const std::vector<std::string>& arguments, std::string_view error) {
  const CLI::App* command = &app;
  std::vector<std::string> names;
  for (const CLI::App* one : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(one->get_name());
    if (!arguments.empty() && arguments.front() == one->get_name()) command = one;
  }
  const bool has_command = command != &app;
  const auto mistake = [&](std::string sentence) { return Mistake{std::move(sentence), usage_of(*command, app)}; };
  if (!has_command && !arguments.empty() && !looks_like_option(arguments.front())) {
    const std::string& word = arguments.front();
    return mistake(fmt::format("there is no command '{}'{}", skipstone::shortened(word), suggestion(word, names)));
  }
  const Words words = words_of(*command, arguments, has_command ? 1 : 0);
  if (words.unknown) {
    return mistake(fmt::format("{} has no option '{}'{}", name_of(*command, app), skipstone::shortened(*words.unknown),
                               suggestion(*words.unknown, option_names(*command))));
  }
  if (command->get_name() == "run" && (error.starts_with("--prompt:") || error.starts_with("The following argument")))
    return mistake(several_prompts(words.positionals));
  return mistake(std::string(error));
}

}  // namespace cli
