// The commands and options as JSON, for tools that write or check documents about them (tools/help-files, tools/check-commands).
#include <CLI/CLI.hpp>
#include <string>

#include "commands.h"
#include "json/json.h"
#include "options/engine_options.h"
#include "options/environment.h"
#include "skipstone/skipstone.hpp"

namespace cli {
namespace {

using skipstone::Json;

Json describe_option(const CLI::Option& option) {
  Json names = Json::array();
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return {{"names", names},
          {"positional", option.get_positional() ? option.get_name(true) : ""},
          {"group", option.get_group()},
          {"value", option.get_type_size() == 0 ? "" : option.get_type_name()},
          {"default", option.get_type_size() == 0 ? "" : option.get_default_str()},
          {"text", option.get_description()},
          {"variable", environment::name_of(&option)}};
}

Json describe_command(const CLI::App& command) {
  Json options = Json::array();
  for (const bool advanced : {false, true}) {  // in the order of --help
    for (const CLI::Option* option : command.get_options()) {
      if (!option->get_group().empty() && (option->get_group() == advanced_group) == advanced) options.push_back(describe_option(*option));
    }
  }
  const CLI::App* parent = command.get_parent();
  const std::string name = (parent == nullptr ? "" : parent->get_name() + " ") + command.get_name();
  return {{"name", parent == nullptr ? "" : command.get_name()},
          {"about", command.get_description()},
          {"usage", CLI::Formatter().make_usage(&command, name)},
          {"options", options},
          {"notes", command.get_footer()}};
}

}  // namespace

std::string describe(const CLI::App& app) {
  Json commands = {describe_command(app)}, drafters = Json::array();
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) commands.push_back(describe_command(*command));
  for (const skipstone_drafter_info& drafter : skipstone::drafters()) drafters.push_back(drafter.name);
  return Json{{"version", skipstone_version()}, {"commands", commands}, {"drafters", drafters}}.dump() + "\n";
}

}  // namespace cli
