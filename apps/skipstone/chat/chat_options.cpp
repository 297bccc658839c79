#include "chat/chat_options.h"

#include "base/platform/files.h"
#include "prompt.h"

namespace cli::chat {
std::vector<CLI::Option*> add_chat_options(CLI::App& command, ChatOptions& options) {
  const char* group = "Conversation";
  return {command.add_option("--system", options.system, "System message: what the model is to be or to do")
              ->envname("SKIPSTONE_SYSTEM")
              ->type_name("TEXT")
              ->group(group),
          command.add_option("--chat-template", options.chat_template, "A file with a Jinja template, or a name; default: the model's own")
              ->envname("SKIPSTONE_CHAT_TEMPLATE")
              ->type_name("FILE|NAME")
              ->group(group)};
}

void add_stop_option(CLI::App& command, std::vector<std::string>& stop) {
  command.add_option("--stop", stop, "End before this text; may be given several times")
      ->type_name("TEXT")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

std::string chat_template(const std::string& file_or_name) {
  const bool file = !file_or_name.empty() && skipstone::platform::is_there(file_or_name);
  return file ? read_text(file_or_name, "the chat template") : file_or_name;
}

}  // namespace cli::chat
