// What a chat's opaque handle holds.
#pragma once

#include <memory>
#include <vector>

#include "chat/prompt_writer.h"

struct skipstone_chat {
  std::shared_ptr<const skipstone::chat::PromptWriter> writer;
  std::vector<const char*> stop_strings;  ///< the writer's, as C has them
};
