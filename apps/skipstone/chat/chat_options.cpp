#include "chat/chat_options.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "exit_code.h"

namespace cli::chat {
namespace {

constexpr std::uintmax_t largest_template = 1 << 20;  // bytes; the largest of known models has 20,000

}  // namespace

void add_chat_options(CLI::App& command, ChatOptions& options) {
  const char* group = "Conversation";
  command.add_option("--system", options.system, "System message: what the model is to be or to do")
      ->envname("SKIPSTONE_SYSTEM")
      ->type_name("TEXT")
      ->group(group);
  command.add_option("--chat-template", options.chat_template, "A file with a Jinja template, or a name; default: the model's own")
      ->envname("SKIPSTONE_CHAT_TEMPLATE")
      ->type_name("FILE|NAME")
      ->group(group);
}

void add_stop_option(CLI::App& command, std::vector<std::string>& stop) {
  command.add_option("--stop", stop, "End before this text; may be given several times")
      ->type_name("TEXT")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

std::string chat_template(const std::string& file_or_name) {
  std::error_code error;
  if (file_or_name.empty() || !std::filesystem::exists(file_or_name, error)) return file_or_name;
  const std::uintmax_t bytes = std::filesystem::file_size(file_or_name, error);
  if (error) throw Failure(ExitCode::usage, fmt::format("the chat template in '{}' cannot be read: {}", file_or_name, error.message()));
  if (bytes > largest_template)
    throw Failure(ExitCode::usage, fmt::format("'{}' is larger than 1 MiB; that is no chat template", file_or_name));
  std::ifstream file(file_or_name, std::ios::binary);
  std::string text(bytes, '\0');
  if (!file.read(text.data(), static_cast<std::streamsize>(bytes))) {
    throw Failure(ExitCode::usage, fmt::format("the chat template in '{}' cannot be read: {}", file_or_name, std::strerror(errno)));
  }
  return text;
}

}  // namespace cli::chat
