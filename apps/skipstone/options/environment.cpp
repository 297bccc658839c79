#include "options/environment.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

namespace cli::environment {
namespace {

struct Relations {
  std::map<const CLI::Option*, std::vector<CLI::Option*>> exclusive, needs;
  std::map<const CLI::Option*, std::string> ignored;  ///< names of variables
  std::set<const CLI::Option*> supplied;
};

Relations& relations() {
  static Relations all;
  return all;
}

/// Parses arguments and runs no command.
class Dry final : public CLI::App {
 public:
  using App::App;
  void pre_callback() override { throw CLI::Success(); }
};

bool has_variable(const CLI::Option* option) {
  const std::string name = option->get_envname();
  const char* value = name.empty() ? nullptr : std::getenv(name.c_str());
  return value != nullptr && *value != '\0';
}

void ignore(CLI::Option* option) {
  Relations& all = relations();
  all.ignored[option] = option->get_envname();
  all.supplied.erase(option);
  option->envname("");
}

void resolve(CLI::App& command, CLI::App& given_command) {
  Relations& all = relations();
  const std::vector<CLI::Option*> options = command.get_options(), twins = given_command.get_options();
  std::set<const CLI::Option*> given;
  for (std::size_t i = 0; i < std::min(options.size(), twins.size()); ++i) {
    if (twins[i]->count() > 0) {
      given.insert(options[i]);
    } else if (has_variable(options[i])) {
      all.supplied.insert(options[i]);
    }
  }
  for (CLI::Option* option : options) {
    // The first variable of several that exclude each other is taken, in the order in which the command has its options.
    std::set<CLI::Option*> others = option->get_excludes();
    if (const auto found = all.exclusive.find(option); found != all.exclusive.end())
      others.insert(found->second.begin(), found->second.end());
    for (CLI::Option* other : others) {
      if (all.supplied.contains(other) && (given.contains(option) || all.supplied.contains(option))) ignore(other);
    }
  }
  for (CLI::Option* option : options) {
    if (!all.supplied.contains(option) || !all.needs.contains(option)) continue;
    const auto has_value = [&](const CLI::Option* needed) { return given.contains(needed) || all.supplied.contains(needed); };
    if (std::ranges::none_of(all.needs[option], has_value)) ignore(option);
  }
}

}  // namespace

void set_exclusive(std::initializer_list<CLI::Option*> options) {
  for (CLI::Option* option : options) {
    for (CLI::Option* other : options) {
      if (other != option) relations().exclusive[option].push_back(other);
    }
  }
}

void set_needs(CLI::Option* option, std::initializer_list<CLI::Option*> needed) { relations().needs[option] = needed; }

std::string name_of(const CLI::Option* option) {
  const auto found = relations().ignored.find(option);
  return found == relations().ignored.end() ? option->get_envname() : found->second;
}

bool supplies(const CLI::Option* option) { return relations().supplied.contains(option); }

void resolve(CLI::App& app, const std::vector<std::string>& arguments, const std::function<void(CLI::App&)>& build) {
  Dry given("", app.get_name());
  build(given);
  for (CLI::App* command : given.get_subcommands({})) {
    for (CLI::Option* option : command->get_options()) option->envname("");
  }
  try {
    given.parse(std::vector<std::string>(arguments));
  } catch (const CLI::Error&) {
    // The later parse by `app` reports errors of the arguments. Options before the error have been counted.
  }
  for (CLI::App* command : given.get_subcommands()) resolve(*app.get_subcommand(command->get_name()), *command);
}

}  // namespace cli::environment
