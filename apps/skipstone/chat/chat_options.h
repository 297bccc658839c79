// The options of conversations, for every command that has them.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace cli::chat {

struct ChatOptions {
  std::string chat_template, system;
};

/// Adds --system and --chat-template.
void add_chat_options(CLI::App& command, ChatOptions& options);

/// Adds --stop.
void add_stop_option(CLI::App& command, std::vector<std::string>& stop);

/// What skipstone_chat_params takes for --chat-template: a name as it is, a file's text. Throws Failure where a file cannot be read.
std::string chat_template(const std::string& file_or_name);

}  // namespace cli::chat
