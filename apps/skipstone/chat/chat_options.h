// The options of conversations, for all commands that have them.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace cli::chat {

struct ChatOptions {
  std::string chat_template, system;
};

/// Adds --system and --chat-template, and returns both.
std::vector<CLI::Option*> add_chat_options(CLI::App& command, ChatOptions& options);

/// Adds --stop.
void add_stop_option(CLI::App& command, std::vector<std::string>& stop);

/// The skipstone_chat_params value for --chat-template: a name as it is, or a file's text. Throws Failure if a file cannot be read.
std::string chat_template(const std::string& file_or_name);

}  // namespace cli::chat
