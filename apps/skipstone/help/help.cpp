// `skipstone help TOPIC`: commands, and what several of them share.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/escape.h"
#include "commands.h"
#include "help/formatter.h"
#include "options/session_options.h"
#include "terminal/nearest_name.h"
#include "terminal/output.h"

namespace cli {
namespace {

std::string topic_text(const CLI::App& app, const std::string& topic) {
  if (topic.empty()) return app.get_formatter()->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal);
  if (topic == "drafters") return wrap_notes(drafters_help(), help_width());
  std::vector<std::string> topics = {"drafters"};
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == topic) return command->help(app.get_name());
    topics.push_back(command->get_name());
  }
  const std::string near = nearest_name(topic, topics);
  fail(ExitCode::usage, "there is no help about '{}'{}; topics are drafters and every command", skipstone::shortened(topic),
       near.empty() ? "" : ", but about " + near);
}

}  // namespace

void add_help(CLI::App& app, ExitCode& code) {
  CLI::App* command = app.add_subcommand("help", "Explain a command, or the drafters");
  const auto topic = std::make_shared<std::string>();
  command->add_option("TOPIC", *topic, "A command, or drafters; without it, what there is");
  command->footer(drafters_help() + "\nExample:\n  skipstone help drafters\n\n" + exit_code_help);
  command->callback([&app, topic, &code] {
    Output(false).write(topic_text(app, *topic));
    code = ExitCode::ok;
  });
}

}  // namespace cli
